import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice

private let page = "https://m.test/p"

/// Prefetch config and policy on a device: fetched when their versions differ, stored, and followed.
@Suite struct DeviceDocumentTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("hello"), "https://m.test/a.js": bytes("a")])
  }

  private static func prefetch(_ version: Int, api: String = "https://m.test/xhr") -> [UInt8] {
    bytes(
      #"{"code":200,"data":{"config":[{"interfaces":[{"api":"\#(api)","method":"GET","urlParam":true}],"#
        + #""url":"\#(page)"}],"name":"prefetchConfig","version":"\#(version)"}}"#)
  }

  private static func policy(_ version: Int, _ members: String) -> [UInt8] {
    bytes(#"{"code":200,"data":{"version":"\#(version)",\#(members)}}"#)
  }

  private static let from = "\(FakeOrigin.server)/"
  private static let prefetchURL = from + "prefetchConfig?app=shop&channel=online"
  private static let policyURL = from + "policy.json?app=shop&channel=online"

  private func serve(prefetch: Int, at url: String = prefetchURL) {
    origin.serve(Self.prefetch(prefetch), at: url)
    origin.say(#","prefetch":"\#(prefetch)""#)
  }

  private func serve(policy: Int, _ members: String) {
    origin.serve(Self.policy(policy, members), at: Self.policyURL)
    origin.say(#","policy":"\#(policy)""#)
  }

  @Test func documentsAreFetchedOncePerVersion() throws {
    let device = try bench.device()
    #expect(try device.update().documents == DocumentReport())
    #expect(device.prefetch.version == "0" && device.prefetchRequests(for: page).isEmpty)
    serve(prefetch: 4)
    _ = origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.kind == .nothing)
    #expect(report.documents.prefetch == .init(from: "0", to: "4") && report.documents.policy == nil)
    #expect(origin.takeLog().filter { !$0.contains("configure") } == [Self.prefetchURL])
    #expect(device.prefetchRequests(for: page + "?id=1").map(\.url) == ["https://m.test/xhr?id=1"])
    #expect(try device.update(force: true).documents == DocumentReport())
    #expect(origin.takeLog().allSatisfy { $0.contains("configure") })
    // A rollback has a higher version; a lower one comes from a cache.
    serve(prefetch: 3)
    #expect(try device.update(force: true).documents == DocumentReport())
    #expect(device.prefetch.version == "4")
  }

  @Test func documentsSurviveARestart() throws {
    origin.serve(Self.prefetch(4), at: Self.prefetchURL)
    origin.serve(Self.policy(2, #""intercept":false,"bypass":[],"scripts":[]"#), at: Self.policyURL)
    origin.say(#","policy":"2","prefetch":"4""#)
    _ = try bench.device().update()
    let folder = bench.settings().folder
    #expect(try DurableFile.read("\(folder)/prefetchConfig.json") == Self.prefetch(4))
    let device = try bench.device()
    #expect(device.prefetch.version == "4" && device.runtimePolicy.version == "2")
    #expect(!device.intercepts(page) && device.prefetchRequests(for: page).isEmpty)
    // A file that can't be read is fetched again.
    try DurableFile.write(bytes("{"), to: "\(folder)/policy.json")
    #expect(try Device(bench.settings("other"), transport: origin).runtimePolicy.version == "0")
  }

  @Test func damagedFilesAreFetchedAgain() throws {
    serve(prefetch: 4)
    do { _ = try bench.device().update() }
    try DurableFile.write(bytes("{"), to: "\(bench.settings().folder)/prefetchConfig.json")
    let device = try bench.device()
    #expect(device.prefetch.version == "0")
    #expect(try device.update(force: true).documents.prefetch == .init(from: "0", to: "4"))
  }

  @Test func killSwitchTurnsEverythingOffUntilItsEnd() throws {
    let device = try bench.device()
    _ = try device.update()
    #expect(try device.page(for: page) != nil)
    serve(policy: 1, #""intercept":false,"until":"2027-01-15T09:00:00Z","bypass":[],"scripts":[]"#)
    _ = try device.update(force: true)
    #expect(device.runtimePolicy.killedUntil == 1_800_003_600_000)
    #expect(try device.page(for: page) == nil && device.resource(for: "https://m.test/a.js") == nil)
    bench.clock.advance(seconds: 3600)
    #expect(try device.page(for: page) != nil && device.resource(for: "https://m.test/a.js") != nil)
  }

  @Test func bypassedPagesAreNotAnswered() throws {
    let device = try bench.device()
    serve(policy: 1, #""intercept":true,"bypass":["https://m.test/p"],"scripts":[]"#)
    _ = try device.update()
    #expect(try device.page(for: page + "?x=1") == nil)
    #expect(try device.resource(for: "https://m.test/a.js", on: page) == nil)
    #expect(try device.resource(for: "https://m.test/a.js", on: "https://m.test/other") != nil)
  }

  /// The policy must arrive also if the manifest can't be used.
  @Test func policyIsFetchedBeforeTheManifest() throws {
    let device = try bench.device()
    bench.origin.fail { $0.hasPrefix("https://cdn.test/") ? .status(404) : nil }
    serve(policy: 1, #""intercept":false,"bypass":[],"scripts":[]"#)
    #expect(throws: DeviceError.self) { try device.update() }
    #expect(device.runtimePolicy.version == "1" && device.version == "0")
  }

  /// The policy is fetched whatever is wrong with the rest of the answer, also if it is truncated.
  @Test(arguments: [
    #""update":true"#, #""version":"2""#,
    #""resourcemap":{"https://M.TEST/":{}},"update":true,"version":"2""#,
    #""digest":"00","resourcemap":{},"update":true,"version":"2""#, #""update":false,"version":2"#,
    #""pack":7,"update":true,"version":"2""#, #""update":false,"version":"1","x":["#,
  ])
  func policyIsFetchedWithAnyAnswer(members: String) throws {
    let device = try bench.device()
    _ = try device.update()
    origin.serve(Self.policy(1, #""intercept":false,"bypass":[],"scripts":[]"#), at: Self.policyURL)
    origin.fail {
      $0.contains("configure.json") ? .body(bytes(#"{"code":200,"data":{"policy":"1",\#(members)}}"#)) : nil
    }
    _ = origin.takeLog()
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(device.runtimePolicy.version == "1" && device.version == "1")
    #expect(origin.takeLog().filter { $0 == Self.policyURL }.count == 1)
    // An answer with another code isn't followed.
    origin.fail { $0.contains("configure.json") ? .body(bytes(#"{"code":500,"data":{"policy":"2"}}"#)) : nil }
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(!origin.takeLog().contains(Self.policyURL))
  }

  /// The answer names one version, and a cache has another.
  @Test(arguments: [1, 2, 4, 8]) func onlyTheNamedVersionIsUsed(given: Int) throws {
    let device = try bench.device()
    serve(policy: 2, #""intercept":false,"bypass":[],"scripts":[]"#)
    _ = try device.update()
    origin.serve(Self.policy(given, #""intercept":true,"bypass":[],"scripts":[]"#), at: Self.policyURL)
    origin.say(#","policy":"7""#)
    #expect(try device.update(force: true).documents.failures.count == 1)
    #expect(device.runtimePolicy.version == "2" && !device.intercepts(page))
    serve(policy: 7, #""intercept":true,"bypass":[],"scripts":[]"#)
    #expect(try device.update(force: true).documents.policy == .init(from: "2", to: "7"))
    #expect(device.intercepts(page))
  }

  /// Truncates answers with a content coding, like a cache that has stored half of them.
  private struct Cutting: Transport {
    let origin: FakeOrigin
    let end: String

    func get(
      _ request: TransportRequest, receive: (RawSpan) -> Bool
    ) throws(TransportError) -> TransportReply {
      guard request.url.contains(end), !request.isUncoded else {
        return try origin.get(request, receive: receive)
      }
      var isCut = false
      return try origin.get(request) { bytes in
        if isCut { return true }
        isCut = true
        return receive(bytes.extracting(first: bytes.byteCount / 2))
      }
    }
  }

  @Test(arguments: ["policy.json", "prefetchConfig"]) func damagedCodingsAreRequestedUncoded(end: String)
    throws
  {
    origin.serve(Self.prefetch(4), at: Self.prefetchURL)
    origin.serve(Self.policy(2, #""intercept":false,"bypass":[],"scripts":[]"#), at: Self.policyURL)
    origin.say(#","policy":"2","prefetch":"4""#)
    let device = try Device(bench.settings(), transport: Cutting(origin: origin, end: end))
    let documents = try device.update().documents
    #expect(documents.failures.isEmpty && documents.policy?.to == "2" && documents.prefetch?.to == "4")
    #expect(origin.takeLog().filter { $0.contains(end) }.count == 2)
  }

  @Test func failedDocumentsDoNotFailTheUpdate() throws {
    origin.say(#","prefetch":"4""#)
    let device = try bench.device()
    let report = try device.update()
    #expect(report.kind == .whole && device.version == "1")
    #expect(report.documents.failures.count == 1)
    origin.serve(bytes(#"{"code":200,"data":{}}"#), at: Self.prefetchURL)
    #expect(try device.update(force: true).documents.failures.count == 1)
    serve(prefetch: 4)
    #expect(try device.update(force: true).documents.prefetch?.to == "4")
  }

  /// "From a mirror a device takes only a higher version than its own."
  @Test func mirrorsOnlyRaiseVersions() throws {
    let device = try bench.device(change: { $0.fallback = FakeOrigin.mirror })
    serve(prefetch: 4)
    _ = try device.update()
    origin.fail { $0.hasPrefix(FakeOrigin.server) ? .error(TransportError(.unreachable, "down")) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    let url = "\(FakeOrigin.mirror)/xcache/shop/prefetchConfig.json"
    serve(prefetch: 3, at: url)
    #expect(try device.update(force: true).documents == DocumentReport())
    serve(prefetch: 5, at: url)
    #expect(try device.update(force: true).documents.prefetch == .init(from: "4", to: "5"))
    // A cache that still has the old file.
    origin.say(#","prefetch":"6""#)
    let report = try device.update(force: true).documents
    #expect(report.prefetch == nil && report.failures.count == 1 && device.prefetch.version == "5")
  }
}

/// Scripts by hash and signature (RFC 8032, section 7.1, test 2: the message is one byte, `r`).
@Suite struct ScriptTests {
  private static let key = Hex.decode(
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", count: 32)
  private static let signature =
    "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA=="
  private static let download = "https://cdn.test/x/script/r.js"

  private func device(
    _ bench: Bench, _ version: Int = 1, signature: String = signature, key: [UInt8]? = key
  ) throws -> Device {
    let script =
      #"{"name":"r","download":"\#(Self.download)","sha256":"\#(SHA256.of(bytes("r")))","signature":"\#(signature)"}"#
    bench.origin.serve(
      bytes(
        #"{"code":200,"data":{"bypass":[],"intercept":true,"scripts":[\#(script)],"version":"\#(version)"}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    bench.origin.say(#","policy":"\#(version)""#)
    let device = try bench.device(change: { $0.scriptKey = key })
    _ = try device.update(force: true)
    return device
  }

  @Test func signedScriptsAreFetchedOnce() throws {
    let bench = try Bench()
    let device = try device(bench)
    bench.origin.serve(bytes("r"), at: Self.download)
    #expect(try device.script("r") == bytes("r"))
    #expect(try device.script("other") == nil)
    _ = bench.origin.takeLog()
    #expect(try device.script("r") == bytes("r"))
    #expect(bench.origin.takeLog().isEmpty)
  }

  @Test func scriptsThatAreNoLongerNamedAreRemoved() throws {
    let bench = try Bench()
    let first = try device(bench)
    bench.origin.serve(bytes("r"), at: Self.download)
    #expect(try first.script("r") == bytes("r"))
    let scripts = first.folder.scripts
    first.tidy()
    #expect(try Folder.textNames(scripts).count == 1)
    bench.origin.serve(
      bytes(#"{"code":200,"data":{"bypass":[],"intercept":true,"scripts":[],"version":"2"}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    bench.origin.say(#","policy":"2""#)
    _ = try first.update(force: true)
    #expect(try Folder.textNames(scripts) == [])
    // A script that arrived late, and a temporary file of an ended process.
    try DurableFile.write(bytes("r"), to: first.folder.script(SHA256.of(bytes("r"))))
    let left = "\(scripts)/x.js.1.tmp"
    try DurableFile.write(bytes("r"), to: left)
    try Kernel.setModified(left, to: bench.clock.now - 25 * 3_600_000)
    first.tidy()
    #expect(try Folder.textNames(scripts) == [])
  }

  @Test func otherBytesAndOtherSignaturesAreRefused() throws {
    let bench = try Bench()
    bench.origin.serve(bytes("x"), at: Self.download)
    func unreadable(_ reason: String) -> DeviceError {
      .unreadable(url: Self.download, reason: "the script\(reason)")
    }
    #expect(throws: unreadable("'s SHA-256 differs from the policy's")) { try device(bench).script("r") }
    bench.origin.serve(bytes("r"), at: Self.download)
    let forged = String(repeating: "A", count: 86) + "=="
    #expect(throws: unreadable(" isn't signed by this app's key")) {
      try device(bench, 2, signature: forged).script("r")
    }
    let setting = "The key that scripts are signed by"
    #expect(throws: DeviceError.badSetting(name: setting, value: "")) {
      try device(bench, 3, key: nil).script("r")
    }
    #expect(throws: DeviceError.badSetting(name: setting, value: "3 bytes")) {
      try device(bench, 4, key: [1, 2, 3])
    }
  }
}
