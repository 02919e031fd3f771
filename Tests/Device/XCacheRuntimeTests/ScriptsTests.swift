import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// The policy's scripts for pages (RFC 8032, section 7.1, test 2: the message is one byte, `r`).
@Suite struct ScriptsTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  private static let key = Hex.decode(
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", count: 32)
  private static let signature =
    "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA=="

  private static func download(_ name: String, _ host: String = "m.test") -> String {
    "https://\(host)/script/\(name).js"
  }

  private static func script(_ name: String, _ host: String = "m.test", _ text: String = "r") -> String {
    #"{"name":"\#(name)","download":"\#(download(name, host))","sha256":"\#(SHA256.of(bytes(text)))","#
      + #""signature":"\#(signature)"}"#
  }

  private func serve(
    _ version: Int, _ scripts: [String], _ members: String = #""intercept":true,"bypass":[]"#
  ) {
    let list = scripts.joined(separator: ",")
    origin.serve(
      bytes(#"{"code":200,"data":{"version":"\#(version)",\#(members),"scripts":[\#(list)]}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    origin.say(#","policy":"\#(version)""#)
  }

  private func runtime(key: [UInt8]? = key) async throws -> Runtime {
    let runtime = try await bench.runtime { $0.device.scriptKey = key }
    await runtime.handle(.launch)
    // Scripts are fetched after the update.
    await runtime.updateThread.run {}
    return runtime
  }

  @Test func scriptsAreFetchedWithThePolicy() async throws {
    for name in ["a", "b"] { origin.serve(bytes("r"), at: Self.download(name)) }
    serve(1, [Self.script("b"), Self.script("a")])
    let runtime = try await runtime()
    _ = origin.takeLog()
    #expect(
      await runtime.scripts(for: RuntimeBench.page) == [
        PageScript(name: "b", source: "r"), PageScript(name: "a", source: "r"),
      ])
    // Pages don't wait for downloads.
    #expect(origin.takeLog() == [])
    await runtime.close()
    #expect(await runtime.scripts(for: RuntimeBench.page) == [])
  }

  @Test func failedScriptsAreReportedAndSkipped() async throws {
    for name in ["a", "c"] { origin.serve(bytes("r"), at: Self.download(name)) }
    origin.serve(bytes("r"), at: Self.download("evil", "evil.test"))
    serve(1, [Self.script("c", "m.test", "other"), Self.script("evil", "evil.test", "x"), Self.script("a")])
    let runtime = try await runtime()
    let events = runtime.events
    #expect(!origin.takeLog().contains { $0.contains("evil.test") })
    #expect(await runtime.scripts(for: RuntimeBench.page).map(\.name) == ["a"])
    await runtime.close()
    var failures: [DeviceError] = []
    for await case .failed(let error) in events { failures.append(error) }
    #expect(failures.count == 2)
    #expect(
      failures.map(\.description).contains { $0.contains("the script's host is not one of the app's hosts") })
  }

  @Test func onlyPagesOfTheAppGetScripts() async throws {
    origin.serve(bytes("r"), at: Self.download("a"))
    serve(1, [Self.script("a")], #""intercept":true,"bypass":["https://m.test/bypassed.html"]"#)
    let runtime = try await runtime()
    for (url, count) in [
      ("https://m.test/any.html?x", 1), ("https://evil.test/", 0), ("https://m.test/bypassed.html", 0),
      ("about:blank", 0), ("", 0),
    ] {
      #expect(await runtime.scripts(for: url).count == count, "\(url)")
    }
    serve(2, [Self.script("a")], #""intercept":false,"bypass":[]"#)
    await runtime.update(force: true)
    #expect(await runtime.scripts(for: RuntimeBench.page) == [])
  }

  @Test func patternsOfTheAppsDocuments() async throws {
    let runtime = try await bench.runtime { $0.device.hosts = ["M.test", "*.example.com"] }
    #expect(
      runtime.scriptPatterns == [
        "https://m.test/*", "http://m.test/*", "https://*.example.com/*", "http://*.example.com/*",
      ])
    await runtime.close()
  }

  @Test func noScriptsWithoutAKey() async throws {
    origin.serve(bytes("r"), at: Self.download("a"))
    serve(1, [Self.script("a")])
    let runtime = try await runtime(key: nil)
    #expect(await runtime.scripts(for: RuntimeBench.page) == [])
    #expect(!origin.takeLog().contains { $0.contains("/script/") })
  }
}
