import DeviceTestSupport
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

private let a = "https://m.test/a.js"
private let b = "https://m.test/b.js"

/// Whatever fails in an update, the device keeps its state, and the error says what it was.
@Suite struct FaultTests {
  let bench: Bench
  let device: Device
  let before: [String: [UInt8]]

  init() throws {
    bench = try Bench()
    try bench.origin.publish([a: bytes("one"), b: bytes("two")])
    device = try bench.device()
    _ = try device.update()
    before = try bench.state()
    try bench.origin.publish([a: bytes("one!"), b: bytes("two!")])
  }

  private func failure(_ fault: @escaping @Sendable (String) -> FakeOrigin.Fault?) throws -> DeviceError {
    bench.origin.fail(fault)
    let error = try #require(throws: DeviceError.self) { try device.update(force: true) }
    #expect(try bench.state() == before)
    #expect(device.version == "1")
    #expect(
      try !Scratch.contents("\(bench.scratch.path)/device/staging").keys.contains { $0.hasSuffix(".part") })
    bench.origin.fail(nil)
    return error
  }

  private func recovers() throws {
    #expect(try device.update(force: true).to == "2")
    #expect(try bench.state() == bench.fresh())
  }

  @Test(arguments: [
    FakeOrigin.Fault.error(TransportError(.unreachable, "no way")), .error(TransportError(.timedOut, "late")),
    .status(500), .status(404), .body(bytes("<html>login</html>")), .body(bytes("")),
    .body(bytes(#"{"code":500,"message":"broken"}"#)), .body(bytes(#"{"code":200}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":"2"}}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":"-2","digest":"","resourcemap":{}}}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":"2","digest":"00","resourcemap":{}}}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":"2","digest":"00","resourcemap":[]}}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":"2","digest":"00","base":"1","patch":{}}}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":"2","digest":"00","resourcemap":{"u":{}}}}"#)),
    .body(bytes(#"{"code":200,"data":{"update":true,"version":2,"digest":"00","resourcemap":{}}}"#)),
    .body(bytes(String(repeating: "[", count: 100_000))),
  ])
  func failedPolls(fault: FakeOrigin.Fault) throws {
    _ = try failure { $0.contains("configure.json") ? fault : nil }
    #expect(device.policy.withLock { $0.failures } == 1)
    try recovers()
    #expect(device.policy.withLock { $0.failures } == 0)
  }

  @Test func serversMessagesAreInTheError() throws {
    let error = try failure { _ in .body(bytes(#"{"code":404,"message":"no app named \"shop\""}"#)) }
    guard case .status(_, 404, let message) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(message == #"no app named "shop""#)
    #expect("\(error)".contains(#"no app named "shop""#))
  }

  @Test func serversMessagesAreOneLine() throws {
    let words = #"gone\nxcache: all is well\u001b[2J\u202e"# + String(repeating: "x", count: 10_000)
    let error = try failure { _ in .body(bytes(#"{"code":404,"message":"\#(words)"}"#)) }
    let text = "\(error)"
    #expect(text.contains("gone xcache: all is well\u{FFFD}[2J\u{FFFD}xxx"))
    #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" } && text.utf8.count < 1000)
  }

  @Test(arguments: [
    ("other bytes", FakeOrigin.Fault.body(bytes("tw0!"))), ("fewer", .body(bytes("tw"))),
    ("more", .body(bytes("two!two!"))), ("none", .body([])), ("absent", .status(404)),
    ("trouble", .status(503)), ("reset", .error(TransportError(.broken, "reset"))),
  ])
  func failedFiles(what: String, fault: FakeOrigin.Fault) throws {
    let error = try failure { $0.contains("b.js") ? fault : nil }
    #expect("\(error)".contains("b.js"), "\(what)")
    #expect(device.policy.withLock { $0.failures } == 0, "the poll itself was answered")
    // The failure stops the other connection; files that had arrived by then aren't fetched again.
    let staged = try Scratch.contents("\(bench.scratch.path)/device/staging").keys
    let arrived = staged.contains { $0.hasSuffix(SHA256.of(bytes("one!")).hex) }
    _ = bench.origin.takeLog()
    #expect(try device.update(force: true).to == "2")
    #expect(bench.origin.takeLog().count { $0.contains("252Fa.js") } == (arrived ? 0 : 1))
    #expect(try bench.state() == bench.fresh())
  }

  @Test func errorsOfWrongBytesHaveBothDigests() throws {
    let error = try failure { $0.contains("b.js") ? .body(bytes("tw0!")) : nil }
    guard case .wrongBytes(let url, _, let expected, let received) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(url == b)
    #expect(expected.sha256 == SHA256.of(bytes("two!")).hex)
    #expect(received.sha256 == SHA256.of(bytes("tw0!")).hex)
  }

  @Test func transientFailuresAreRetried() throws {
    let left = Locked(2)
    bench.origin.fail { url in
      guard url.contains("b.js") else { return nil }
      let isFailing = left.withLock { count in
        count -= 1
        return count >= 0
      }
      return isFailing ? .error(TransportError(.broken, "reset")) : nil
    }
    try recovers()
  }

  /// Manifests with one entry that has an invalid member.
  @Test(arguments: [
    ("download", "ftp://cdn.test/a"), ("download", "/relative/a"), ("download", "https://cdn.test/"),
    ("download", "https://cdn.test/a/%2E%2E%2Fx"), ("download", "https://cdn.test/x%2Fy"),
    ("download", "file:///etc/passwd"), ("download", "https://user:word@cdn.test/a"), ("download", ""),
    ("md5", "0"), ("sha256", "ABCD"), ("size", "3"), ("ctype", "text/html\r\nX: y"),
  ])
  func invalidEntriesAreRefused(member: String, value: String) throws {
    let entry = try #require(device.index.entries.first)
    var json = try #require(entry.entry.json.object)
    json[member] = .string(value)
    var map = JSONObject()
    map[a] = .object(json)
    bench.origin.publish(raw: map, version: 2)
    let error = try failure { _ in nil }
    #expect("\(error)".contains(member == "download" && value != "" ? a : member))
  }

  @Test func differentBytesUnderOneNameAreRefused() throws {
    let first = try #require(device.index.entries.first)
    let last = try #require(device.index.entries.last)
    var json = try #require(last.entry.json.object)
    json["download"] = .string(first.entry.download)
    var map = JSONObject()
    map[a] = first.entry.json
    map[b] = .object(json)
    bench.origin.publish(raw: map, version: 2)
    #expect(try failure { _ in nil } == .sameName(name: first.name.text, urls: [a, b]))
  }

  @Test func manifestsThatAreTooLongAreRefused() throws {
    let small = try bench.device("small", change: { $0.manifestLimit = 100 })
    let error = #expect(throws: DeviceError.self) { try small.update() }
    guard case .noAnswer(_, let reason) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.kind == .tooLong)
  }

  @Test func diskLimitEvictsSetAsideFilesFirst() throws {
    let limited = try bench.device("limited", change: { $0.diskLimit = 3 * 4096 })
    let aside = "\(bench.scratch.path)/limited/aside"
    _ = try limited.update()
    bench.clock.advance(seconds: 60)
    try bench.origin.publish([a: bytes("1"), b: bytes("two!")])
    _ = try limited.update()
    #expect(try Scratch.contents(aside).count == 1)
    bench.clock.advance(seconds: 60)
    try bench.origin.publish([a: bytes("1"), b: PackBench.text(1, 5000)])
    _ = try limited.update()
    #expect(try Scratch.contents(aside).isEmpty)
    #expect(try Folder.textNames("\(bench.scratch.path)/limited/files").count == 2)
  }

  @Test(arguments: [
    ("server", "cdn.test"), ("server", ""), ("server", "https://o.test/?q"), ("app", "1a"), ("app", ""),
    ("channel", "Online"), ("folder", ""),
  ])
  func invalidSettingsAreRefused(name: String, value: String) throws {
    var settings = bench.settings("other")
    switch name {
    case "server": settings.server = value
    case "app": settings.app = value
    case "channel": settings.channel = value
    default: settings.folder = value
    }
    #expect(throws: DeviceError.self) { try Device(settings, transport: bench.origin) }
  }
}
