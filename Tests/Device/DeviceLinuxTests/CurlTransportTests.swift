import Compression
import DeviceLinux
import DeviceTestSupport
import Manifests
import SocketServer
import System
import Testing
import TestSupport

@testable import XCacheDevice

@Suite struct CurlTransportTests {
  /// A device over real sockets: a poll, downloads over persistent connections, and broken ones that are retried.
  @Test func completeUpdate() throws {
    let origin = FakeOrigin()
    let files = Dictionary(
      uniqueKeysWithValues: (0..<40).map {
        ("https://m.test/\($0).js", [UInt8](repeating: UInt8($0), count: $0 * 10_000))
      })
    try origin.publish(files)
    let resets = Locked(3)
    let server = SocketServer { request in
      let isReset = resets.withLock { left in
        guard request.path.hasPrefix("/cdn/"), left > 0 else { return false }
        left -= 1
        return true
      }
      return isReset
        ? [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8)), .reset]
        : origin.steps(for: request)
    }
    let scratch = try Scratch()
    var settings = DeviceSettings(
      folder: "\(scratch.path)/device", server: "\(server.url)/origin", app: "shop", hosts: ["*"])
    settings.retryPauses = [0, 0, 0]
    let progress = Locked<[Progress]>([])
    let device = try Device(settings, transport: SocketTransport(CurlTransport(), to: server.url))
    let report = try device.update { now in progress.withLock { $0.append(now) } }
    #expect(report.kind == .whole && report.fetched == 40)
    #expect(report.bytesFetched == files.values.reduce(0) { $0 + Int64($1.count) })
    #expect(server.connections <= 6 + 3)
    let last = try #require(progress.withLock { $0.max { $0.files < $1.files } })
    #expect(last.files == 40 && last.filesTotal == 40 && last.bytes == last.bytesTotal)
    for (url, bytes) in files { #expect(try device.resource(for: url)?.read() == bytes) }
  }

  /// A server that doesn't know the question "100-continue" would cost each report a second.
  @Test func reportsAreSentWithoutAsking() {
    let asked = Locked<[String: String]?>(nil)
    let server = SocketServer { request in
      asked.withLock { $0 = request.fields }
      return [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8))]
    }
    CurlTransport().tell(Array("{}".utf8), to: "\(server.url)/report")
    let fields = asked.withLock { $0 }
    #expect(fields?["content-length"] == "2" && fields?["expect"] == nil, "\(fields ?? [:])")
  }

  /// Kinds of damage to a coded body.
  enum Damage: CaseIterable {
    /// It can't be decoded.
    case torn
    /// It decodes to other bytes, of the same number or more.
    case otherBytes, moreBytes
  }

  @Test(arguments: Damage.allCases) func damagedCodedBodiesAreRequestedUncoded(_ damage: Damage) throws {
    let origin = FakeOrigin()
    let script = Array(String(repeating: "const answer = 42;\n", count: 200).utf8)
    try origin.publish(["https://m.test/a.js": script])
    let codings = Locked<[String]>([])
    let server = SocketServer { request in
      guard request.path.hasPrefix("/cdn/") else { return origin.steps(for: request) }
      let accepted = request.fields["accept-encoding"] ?? ""
      codings.withLock { $0.append(accepted) }
      guard accepted.contains("gzip") else { return origin.steps(for: request) }
      var coded = Gzip.encode([script])
      switch damage {
      case .torn: coded[coded.count / 2] ^= 0x10
      case .otherBytes: coded = Gzip.encode([script.map { $0 ^ 1 }])
      case .moreBytes: coded = Gzip.encode([script + script])
      }
      return .answer(200, [("Content-Encoding", "gzip")], body: coded)
    }
    let scratch = try Scratch()
    var settings = DeviceSettings(
      folder: "\(scratch.path)/device", server: "\(server.url)/origin", app: "shop", hosts: ["*"])
    settings.retryPauses = []
    let device = try Device(settings, transport: SocketTransport(CurlTransport(), to: server.url))
    let report = try device.update()
    #expect(report.fetched == 1)
    #expect(try device.resource(for: "https://m.test/a.js")?.read() == script)
    #expect(codings.withLock { $0 } == ["gzip, zstd", "identity"])
  }

  /// If every copy of a coded file is truncated, each attempt fails.
  @Test func truncatedCodedBodiesAreFinallyRequestedUncoded() throws {
    let origin = FakeOrigin()
    let script = Array(String(repeating: "const answer = 42;\n", count: 200).utf8)
    try origin.publish(["https://m.test/a.js": script])
    let codings = Locked<[String]>([])
    let server = SocketServer { request in
      guard request.path.hasPrefix("/cdn/") else { return origin.steps(for: request) }
      let accepted = request.fields["accept-encoding"] ?? ""
      codings.withLock { $0.append(accepted) }
      return accepted.contains("gzip")
        ? Self.short(Gzip.encode([script])) : origin.steps(for: request)
    }
    let scratch = try Scratch()
    var settings = DeviceSettings(
      folder: "\(scratch.path)/device", server: "\(server.url)/origin", app: "shop", hosts: ["*"])
    settings.retryPauses = [0, 0]
    let device = try Device(settings, transport: SocketTransport(CurlTransport(), to: server.url))
    #expect(try device.update().fetched == 1)
    #expect(try device.resource(for: "https://m.test/a.js")?.read() == script)
    #expect(codings.withLock { $0 } == ["gzip, zstd", "gzip, zstd", "identity"])
  }

  /// Half of a gzip body, with the length of all of it.
  private static func short(_ coded: [UInt8]) -> [SocketServer.Step] {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
    return [.send(Array(head.utf8) + coded.prefix(coded.count / 2)), .close]
  }

  /// Kinds of damage to a coded answer to a poll: it can't be decoded, isn't JSON, or is truncated.
  enum PollDamage: CaseIterable {
    case torn, otherText, short
  }

  @Test(arguments: PollDamage.allCases) func damagedCodedPollsAreRequestedUncoded(_ damage: PollDamage) throws
  {
    let origin = FakeOrigin()
    try origin.publish(
      Dictionary(uniqueKeysWithValues: (0..<50).map { ("https://m.test/\($0).js", [UInt8(48 + $0)]) }))
    let codings = Locked<[String]>([])
    let server = SocketServer { request in
      let whole = origin.steps(for: request)
      guard request.path.hasPrefix("/origin/") else { return whole }
      let accepted = request.fields["accept-encoding"] ?? ""
      codings.withLock { $0.append(accepted) }
      guard accepted.contains("gzip") else { return whole }
      let url = FakeOrigin.server + request.path.dropFirst("/origin".count)
      var coded = Gzip.encode([origin.fetch(url).body])
      switch damage {
      case .torn: coded[coded.count / 2] ^= 0x10
      case .otherText: coded = Gzip.encode([Array("{\"code\":".utf8)])
      case .short: return Self.short(coded)
      }
      return .answer(200, [("Content-Encoding", "gzip")], body: coded)
    }
    let scratch = try Scratch()
    let settings = DeviceSettings(
      folder: "\(scratch.path)/device", server: "\(server.url)/origin", app: "shop", hosts: ["*"])
    let device = try Device(settings, transport: SocketTransport(CurlTransport(), to: server.url))
    #expect(try device.update().fetched == 50)
    #expect(codings.withLock { Array($0.prefix(2)) } == ["gzip, zstd", "identity"])
  }

  private func outcome(
    limit: Int64 = 1000, stallSeconds: Int = 30, shouldContinue: Bool = true, _ steps: [SocketServer.Step]
  ) -> Result<TransportReply, TransportError> {
    let server = SocketServer { _ in steps }
    return Result { () throws(TransportError) in
      try CurlTransport(stallSeconds: stallSeconds)
        .get(TransportRequest("\(server.url)/x", limit: limit)) { _ in shouldContinue }
    }
  }

  @Test func statusIsReturned() {
    let words = Array("message".utf8)
    #expect(
      outcome(.answer(404, body: words)) == .success(TransportReply(status: 404, received: 7, failure: words))
    )
    #expect(outcome(.answer(200, body: words)) == .success(TransportReply(status: 200, received: 7)))
  }

  @Test(
    arguments: [
      (TransportError.Kind.tooLong, 3, true, [SocketServer.Step].answer(body: Array("message".utf8))),
      (.stopped, 1000, false, .answer(body: Array("message".utf8))), (.broken, 1000, true, [.reset]),
      (.broken, 1000, true, [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab".utf8)), .close]),
      (.other, 1000, true, [.send(Array("SSH-2.0-x\r\n".utf8)), .close]),
    ] as [(TransportError.Kind, Int64, Bool, [SocketServer.Step])])
  func errorsHaveKinds(
    kind: TransportError.Kind, limit: Int64, shouldContinue: Bool, steps: [SocketServer.Step]
  ) {
    guard case .failure(let error) = outcome(limit: limit, shouldContinue: shouldContinue, steps) else {
      Issue.record("there is an answer")
      return
    }
    #expect(error.kind == kind)
    #expect(!error.reason.isEmpty)
  }

  @Test func closedPortsAreUnreachable() {
    var server: SocketServer? = SocketServer { _ in [.close] }
    let url = server?.url ?? ""
    server = nil
    let error = #expect(throws: TransportError.self) {
      try CurlTransport(connectSeconds: 2).get(TransportRequest(url, limit: 1)) { _ in true }
    }
    #expect(error?.kind == .unreachable || error?.kind == .broken)
  }
}
