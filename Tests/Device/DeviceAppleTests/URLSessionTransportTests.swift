import DeviceApple
import DeviceTestSupport
import Manifests
import SocketServer
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// The transport for Apple's systems, with Foundation on Linux and over real sockets.
@Suite struct URLSessionTransportTests {
  private func fetch(
    _ request: TransportRequest, stallSeconds: Int = 30, stopAfter limit: Int = .max,
    from server: SocketServer
  ) throws -> (head: TransportHead?, bytes: [UInt8], reply: TransportReply) {
    var head: TransportHead?
    var bytes: [UInt8] = []
    let reply = try URLSessionTransport(stallSeconds: stallSeconds).get(
      request,
      begin: {
        head = $0
        return true
      },
      receive: { piece in
        piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
        return bytes.count < limit
      })
    return (head, bytes, reply)
  }

  private func failure(_ body: () throws -> Void) -> TransportError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? TransportError)?.kind
    }
  }

  @Test func completeUpdate() throws {
    let origin = FakeOrigin()
    let files = Dictionary(
      uniqueKeysWithValues: (0..<20).map {
        ("https://m.test/\($0).js", [UInt8](repeating: UInt8($0), count: $0 * 10_000))
      })
    try origin.publish(files)
    let server = SocketServer { origin.steps(for: $0) }
    let scratch = try Scratch()
    let settings = DeviceSettings(
      folder: "\(scratch.path)/device", server: "\(server.url)/origin", app: "shop", hosts: ["*"])
    let device = try Device(
      settings, transport: SocketTransport(URLSessionTransport(), to: server.url))
    let report = try device.update()
    #expect(report.kind == .whole && report.fetched == 20)
    #expect(report.bytesFetched == files.values.reduce(0) { $0 + Int64($1.count) })
    for (url, bytes) in files { #expect(try device.resource(for: url)?.read() == bytes) }
  }

  @Test func rangesAreRequested() throws {
    let asked = Locked<[String: String]>([:])
    let server = SocketServer { request in
      asked.withLock { $0 = request.fields }
      return .answer(
        206, [("Content-Range", "bytes 3-5/6"), ("ETag", "\"a\"")], body: Array("def".utf8))
    }
    var request = TransportRequest("\(server.url)/x", limit: 100)
    request.start = 3
    request.entityTag = "\"a\""
    let result = try fetch(request, from: server)
    #expect(result.head == TransportHead(status: 206, start: 3, total: 6, entityTag: "\"a\""))
    #expect(result.bytes == Array("def".utf8) && result.reply.received == 3)
    #expect(asked.withLock { $0["range"] } == "bytes=3-" && asked.withLock { $0["if-range"] } == "\"a\"")
    // Another part than requested is an error.
    request.start = 2
    #expect(failure { _ = try fetch(request, from: server) } == .other)
    // Uncoded requests are sent as such, and weak tags are never sent.
    request = TransportRequest("\(server.url)/x", limit: 100, isUncoded: true)
    request.entityTag = "W/\"a\""
    _ = failure { _ = try fetch(request, from: server) }
    #expect(
      asked.withLock { $0["accept-encoding"] } == "identity" && asked.withLock { $0["if-range"] } == nil)
  }

  @Test func failuresHaveKinds() throws {
    let server = SocketServer { request in
      switch request.path {
      case "/missing": .answer(404, [], body: Array("no".utf8))
      case "/torn": [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".utf8)), .close]
      case "/loop": .answer(302, [("Location", "/loop")])
      default: .answer(200, [], body: [UInt8](repeating: 7, count: 5_000_000))
      }
    }
    let missing = try fetch(TransportRequest("\(server.url)/missing", limit: 100), from: server)
    #expect(missing.reply.status == 404 && missing.bytes.isEmpty && missing.head == nil)
    #expect(missing.reply.failure == Array("no".utf8))
    let long = TransportRequest("\(server.url)/long", limit: 4_999_999)
    #expect(failure { _ = try fetch(long, from: server) } == .tooLong)
    let whole = try fetch(TransportRequest("\(server.url)/long", limit: 5_000_000), from: server)
    #expect(whole.bytes.count == 5_000_000 && whole.bytes.allSatisfy { $0 == 7 })
    #expect(failure { _ = try fetch(long, stopAfter: 1, from: server) } == .stopped)
    // Apple's Foundation reports a lost connection, Linux's only a bad answer.
    let torn = failure { _ = try fetch(TransportRequest("\(server.url)/torn", limit: 100), from: server) }
    #expect(torn == .broken || torn == .other)
    let loop = try fetch(TransportRequest("\(server.url)/loop", limit: 100), from: server)
    #expect(loop.reply.status == 302 && loop.bytes.isEmpty)
    #expect(
      failure { _ = try fetch(TransportRequest("http://127.0.0.1:1/", limit: 1), from: server) }
        == .unreachable)
    #expect(
      failure { _ = try fetch(TransportRequest("file:///etc/passwd", limit: 1), from: server) } == .other)
  }

  /// As with a disk that is slower than the network.
  @Test func slowReadersGetEachByteOnce() throws {
    let bytes = (0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
    let server = SocketServer { _ in .answer(200, [], body: bytes) }
    var pieces = 0
    var got: [UInt8] = []
    _ = try URLSessionTransport().get(TransportRequest("\(server.url)/x", limit: .max)) { piece in
      pieces += 1
      if pieces % 20 == 1 { Clock.sleep(for: .milliseconds(100)) }
      piece.withUnsafeBytes { got.append(contentsOf: $0) }
      return true
    }
    #expect(got == bytes, "\(got.count) bytes")
  }

  @Test func networkChangesCloseConnections() throws {
    let server = SocketServer { _ in .answer(body: Array("yes".utf8)) }
    let transport = URLSessionTransport()
    for connections in 1...2 {
      for _ in 0..<3 { _ = try transport.get(TransportRequest(server.url, limit: 100)) { _ in true } }
      #expect(server.connections == connections)
      transport.networkChanged()
    }
  }

  @Test func stalledServersTimeOut() throws {
    let server = SocketServer { _ in
      [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".utf8)), .sleep(milliseconds: 20_000)]
    }
    let request = TransportRequest("\(server.url)/x", limit: 100)
    #expect(failure { _ = try fetch(request, stallSeconds: 1, from: server) } == .timedOut)
  }

  @Test func reportsArePosted() throws {
    let bodies = Locked<[[UInt8]]>([])
    let server = SocketServer { request in
      bodies.withLock { $0.append(request.body) }
      return .answer(202, [])
    }
    URLSessionTransport().tell(Array("{}".utf8), to: "\(server.url)/report")
    #expect(bodies.withLock { $0 } == [Array("{}".utf8)])
  }
}
