import SocketServer
import Synchronization
import System
import Testing

@testable import HTTPClient

@Suite struct HTTPClientTests {
  let client = HTTPClient()

  @Test func sendsMethodFieldsAndBody() throws {
    let server = SocketServer { request in
      .answer(
        201, [("X-Method", request.method), ("x-token", request.fields["authorization"] ?? "none")],
        body: request.body)
    }
    let reply = try client.send(
      HTTPRequest(
        "PUT", server.url + "/a?b=c", fields: [("Authorization", "Bearer t")],
        body: .bytes([1, 2, 3])))
    #expect(reply.status == 201)
    #expect(reply.isSuccess)
    #expect(reply.fields["x-method"] == "PUT")
    #expect(reply.fields["X-Token"] == "Bearer t")
    #expect(reply.body == [1, 2, 3])
  }

  @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
  func methods(_ method: String) throws {
    let server = SocketServer { .answer(200, [("X", $0.method)], body: $0.method == "HEAD" ? [] : [7]) }
    let reply = try client.send(HTTPRequest(method, server.url))
    #expect(reply.fields["x"] == method)
    #expect(reply.body == (method == "HEAD" ? [] : [7]))
  }

  /// An answer to HEAD ends with its head, whatever its Content-Length and the request's body.
  @Test(arguments: [[], [1, 2]] as [[UInt8]]) func answersToHEADHaveNoBody(_ body: [UInt8]) throws {
    let server = SocketServer { request in
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Body: \(request.body.count)\r\n\r\n"
      return [.send(Array(head.utf8))]
    }
    let reply = try client.send(
      HTTPRequest("HEAD", server.url, body: .bytes(body), timeouts: HTTPTimeouts(totalMilliseconds: 10_000)))
    #expect(reply.status == 200 && reply.body.isEmpty && reply.fields["x-body"] == "0")
  }

  /// "A user agent SHOULD send Content-Length in a request when the method defines a meaning for enclosed content" (RFC
  /// 9110 §8.6).
  @Test(arguments: ["POST": "0", "PUT": "0", "PATCH": "0", "GET": "none", "DELETE": "none"])
  func contentLengthOfEmptyBodies(_ method: String, _ length: String) throws {
    let server = SocketServer { .answer(200, [("X", $0.fields["content-length"] ?? "none")]) }
    #expect(try client.send(HTTPRequest(method, server.url)).fields["x"] == length)
  }

  /// No upgrade was asked for.
  @Test func status101IsRefused() {
    let server = SocketServer { _ in
      [.send(Array("HTTP/1.1 101 Switching Protocols\r\n\r\nother".utf8)), .close]
    }
    let error = failure(of: HTTPRequest("GET", server.url))
    #expect(error?.contains("can't be read") == true && error?.contains("101") == true)
  }

  @Test func reusesTheConnection() throws {
    let server = SocketServer { _ in .answer() }
    for _ in 0..<20 { _ = try client.send(HTTPRequest("GET", server.url)) }
    #expect(server.connections == 1)
  }

  @Test func streamsABodyThatIsNotInMemory() throws {
    let server = SocketServer { request in
      .answer(body: [UInt8(truncatingIfNeeded: request.body.reduce(0) { $0 &+ Int($1) })])
    }
    let length: Int64 = 5_000_001
    let body = HTTPBody.stream(length: length) { offset, buffer in
      for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: offset + Int64(index)) }
      return buffer.count
    }
    let reply = try client.send(HTTPRequest("PUT", server.url, body: body))
    let sum = (0..<Int(length)).reduce(0) { $0 &+ Int(UInt8(truncatingIfNeeded: $1)) }
    #expect(reply.body == [UInt8(truncatingIfNeeded: sum)])
  }

  @Test func resendsTheBodyWhenThePersistentConnectionWasClosed() throws {
    let server = SocketServer { request in
      request.connection == 0 ? .answer() + [.close] : .answer(body: request.body)
    }
    _ = try client.send(HTTPRequest("GET", server.url))
    Clock.sleep(for: .milliseconds(50))
    let body = HTTPBody.stream(length: 4) { offset, buffer in
      for index in buffer.indices { buffer[index] = UInt8(Int(offset) + index) }
      return buffer.count
    }
    #expect(try client.send(HTTPRequest("PUT", server.url, body: body)).body == [0, 1, 2, 3])
    #expect(server.connections == 2)
  }

  @Test func streamsAnAnswer() throws {
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let server = SocketServer { _ in .answer(body: bytes) }
    var received: [UInt8] = []
    let reply = try client.send(
      HTTPRequest("GET", server.url), into: .stream(limit: 3_000_000) { received.append(contentsOf: $0) })
    #expect(reply.body.isEmpty)
    #expect(received == bytes)
  }

  @Test func bodiesOfFailuresDoNotReachTheSink() throws {
    let server = SocketServer { _ in .answer(404, body: "gone".utf8) }
    var received = 0
    let reply = try client.send(
      HTTPRequest("GET", server.url), into: .stream(limit: 10) { received += $0.count })
    #expect(reply.body == Array("gone".utf8))
    #expect(received == 0)
  }

  @Test func decodesOnlyWhenAsked() throws {
    // gzip of "hello"
    let coded: [UInt8] = [
      31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
    ]
    let server = SocketServer { request in
      .answer(
        200, [("Content-Encoding", "gzip"), ("X-Offered", request.fields["accept-encoding"] ?? "")],
        body: coded)
    }
    let plain = try client.send(HTTPRequest("GET", server.url))
    #expect(plain.body == coded)
    #expect(plain.fields["x-offered"] == "")
    let decoded = try client.send(HTTPRequest("GET", server.url, decodes: true))
    #expect(decoded.body == Array("hello".utf8))
    #expect(decoded.fields["x-offered"] == "gzip, zstd")
  }

  @Test func followsRedirectsOnlyWhenAsked() throws {
    let server = SocketServer { request in
      request.path == "/a" ? .answer(302, [("Location", "/b")]) : .answer(body: [9])
    }
    #expect(try client.send(HTTPRequest("GET", server.url + "/a")).status == 302)
    #expect(try client.send(HTTPRequest("GET", server.url + "/a", redirects: 1)).body == [9])
  }

  @Test func watchReportsProgressAndCancels() throws {
    let server = SocketServer { _ in .answer() }
    let peak = Mutex<Int64>(0)
    var request = HTTPRequest("PUT", server.url, body: .bytes([UInt8](repeating: 1, count: 2_000_000)))
    request.watch = { progress in
      peak.withLock { $0 = max($0, progress.sent) }
      return true
    }
    _ = try client.send(request)
    #expect(peak.withLock { $0 } == 2_000_000)
    request.watch = { _ in false }
    #expect(failure(of: request) == "stopped")
  }

  @Test func isUsableFromManyThreads() async throws {
    let server = SocketServer { .answer(body: $0.path.utf8) }
    let url = server.url
    let client = self.client
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for index in 0..<50 {
            let path = "/\(worker)/\(index)"
            let reply = try client.send(HTTPRequest("GET", url + path))
            #expect(reply.body == Array(path.utf8))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(server.connections <= 4)
  }

  func failure(of request: HTTPRequest, into sink: HTTPSink = .memory(limit: 100)) -> String? {
    do {
      _ = try client.send(request, into: sink)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Endless field lines and endless interim answers don't use memory, whatever libcurl's version.
  @Test(
    arguments: [
      ("HTTP/1.1 200 OK\r\n", "X-More: ", "\r\n"), ("", "HTTP/1.1 103 Early Hints\r\nLink: ", "\r\n\r\n"),
    ])
  func endlessHeadsAreRefused(start: String, before: String, after: String) throws {
    let piece = Array((before + String(repeating: "x", count: 8000) + after).utf8)
    let server = SocketServer { _ in
      [.send(Array(start.utf8))] + [SocketServer.Step](repeating: .send(piece), count: 400) + [.close]
    }
    #expect(failure(of: HTTPRequest("GET", server.url)) == "the answer is longer than 262144 bytes")
  }

  @Test func trailersAreNotReadAsStatusLines() throws {
    let text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nHTTP/1.1: 500 no\r\n\r\n"
    let server = SocketServer { _ in [.send(Array(text.utf8)), .close] }
    let reply = try HTTPClient().send(HTTPRequest("GET", server.url))
    #expect(reply.status == 200 && reply.body == [97])
  }
}
