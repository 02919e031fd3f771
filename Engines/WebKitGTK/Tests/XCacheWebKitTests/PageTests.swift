import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

/// All tests run serially: they share WebKit's processes, and some kill them.
@Suite(.serialized) enum WebKitTests {}

extension WebKitTests {
  /// Real pages, published by a real origin, with sites behind TLS.
  @Suite(.serialized)
  @WebActor
  struct PageTests {
    /// Runs cases in a page and returns the differences.
    private func run(_ cases: [PageCase], in page: WebPage) async -> [String] {
      var wrong: [String] = []
      for one in cases {
        let got: String
        do {
          got = try await page.evaluate(one.script, timeout: .seconds(20)) ?? "undefined"
        } catch {
          got = "\(error)"
        }
        if got != one.expected { FileHandle.standardError.write(Data("\(one.name): \(got)\n".utf8)) }
        if got != one.expected { wrong.append("\(one.name): \(got) instead of \(one.expected)") }
      }
      return wrong
    }

    /// Checks the cases' expectations against WebKit itself: with interception off, every connection is tunneled.
    @Test func casesPassWithoutInterception() async throws {
      let sites = try Sites()
      try sites.tell("run policy kill -m test")
      let app = try await App(sites)
      for host in Sites.hosts { try app.host.trust(sites.told.certificate, for: host) }
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      #expect(await run(try PageCase.all(), in: page) == [])
      #expect(app.runtime.counts.memory + app.runtime.counts.disk == 0)
      await app.end()
    }

    @Test func casesPassFromTheDevice() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      _ = try sites.log()
      try await page.load(sites.url("/index.html"))
      #expect(await run(try PageCase.all(), in: page) == [])
      let ofSites = ["/api/", "?", "/none.txt", "/socket", "foreign.test"]
      let asked = try sites.log().filter { line in
        line.hasPrefix("GET") && !ofSites.contains { line.contains($0) }
      }
      #expect(asked == [], "the device holds these")
      await app.end()
    }

    @Test func casesPassWithSitesStopped() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      try sites.tell("stop")
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      #expect(await run(try PageCase.all().filter { !$0.needsSites }, in: page) == [])
      // Requests that need a site fail as without a network.
      #expect(
        try await page.evaluate("return await fetch('/api/echo').catch(e => e.name)") == "\"TypeError\"")
      await app.end()
    }

    @Test func casesPassWithADamagedCache() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      var damaged = 0
      for file in try app.files()
      where file.pathComponents.contains("files") || file.lastPathComponent.count >= 32 {
        let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        try Data(repeating: 0x58, count: size).write(to: file)
        damaged += 1
      }
      #expect(damaged > 10)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      #expect(await run(try PageCase.all(), in: page) == [])
      await app.end()
    }
  }
}
