import HTTPClient
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import Values

@testable import Publishing

/// Retries are recognisable by their Idempotency-Key.
@Suite struct RetryTests {
  private static func api(_ server: SocketServer, attempts: Int = 3) throws -> OriginClient {
    OriginClient(server: try BaseURL(server.url), token: nil) { _ in RetryPolicy(attempts: attempts, first: 1)
    }
  }

  /// Answers with each of `steps` in turn, then with 200; records the keys.
  private static func server(_ steps: [[SocketServer.Step]]) -> (SocketServer, Locked<[String?]>) {
    let keys = Locked<[String?]>([])
    let server = SocketServer { request in
      let count = keys.withLock { keys in
        keys.append(request.fields["idempotency-key"])
        return keys.count
      }
      return count <= steps.count ? steps[count - 1] : .answer(body: "{}".utf8)
    }
    return (server, keys)
  }

  private static let running: [SocketServer.Step] = .answer(
    503, [("Retry-After", "0"), ("Content-Type", "application/problem+json")],
    body: #"{"code":"still-running"}"#.utf8)

  @Test func allAttemptsOfAnActHaveItsKey() throws {
    let (server, keys) = Self.server([[.reset], .answer(502)])
    let api = try Self.api(server)
    _ = try api.send(OriginCall("POST", "gc", EmptyRequest()))
    _ = try api.send(OriginCall("DELETE", "tokens/ci"))
    let sent = keys.withLock { $0 }
    #expect(sent.count == 4 && Set(sent[..<3]).count == 1 && sent[3] != sent[0])
    for key in sent { #expect(key?.count == 32 && key?.allSatisfy { $0.isHexDigit } == true) }
  }

  @Test func actWithoutAnAnswerMayHaveBeenDone() throws {
    let (server, keys) = Self.server(Array(repeating: [.reset], count: 20))
    let error = #expect(throws: OriginError.self) {
      try Self.api(server).send(OriginCall("POST", "gc", EmptyRequest()))
    }
    #expect(keys.withLock { $0 }.count == 6)
    #expect(error?.message.contains("may have made the change") == true)
    let busy: [SocketServer.Step] = .answer(503, body: #"{"code":"busy","detail":"later"}"#.utf8)
    let (refusing, _) = Self.server(Array(repeating: busy, count: 20))
    let refusal = #expect(throws: OriginError.self) {
      try Self.api(refusing).send(OriginCall("DELETE", "tokens/ci"))
    }
    #expect(refusal?.message == "later")
    // The first attempt may have been done; the later 503 doesn't mean that it wasn't.
    let (broken, _) = Self.server([[.reset]] + Array(repeating: busy, count: 20))
    let open = #expect(throws: OriginError.self) {
      try Self.api(broken).send(OriginCall("DELETE", "tokens/ci"))
    }
    #expect(open?.message.contains("may have made the change") == true)
  }

  @Test func idempotentRequestsHaveNoKey() throws {
    let (server, keys) = Self.server([])
    let api = try Self.api(server)
    _ = try api.send(OriginCall("GET", "apps"))
    _ = try api.send(OriginCall("PUT", "blobs/x"))
    var query = OriginCall("POST", "blobs/missing", EmptyRequest())
    query.isRepeatable = true
    _ = try api.send(query)
    #expect(keys.withLock { $0 } == [nil, nil, nil])
  }

  @Test func runningActIsWaitedFor() throws {
    // More often than a failure would be retried.
    let (server, keys) = Self.server([[.reset]] + Array(repeating: Self.running, count: 20))
    _ = try Self.api(server).send(OriginCall("POST", "gc", EmptyRequest()))
    #expect(keys.withLock { $0 }.count == 22)
  }
}
