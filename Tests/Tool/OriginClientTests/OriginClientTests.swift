import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import Values

/// The client's handling of answers, errors, and no answer.
@Suite struct OriginClientTests {
  @Test func tokenAndPathAreSent() throws {
    let script = ScriptedOrigin(ScriptedOrigin.json(#"{"a":1}"#))
    #expect(try script.client().send(OriginCall("GET", "apps/a%20b?x=1")) == ["a": 1])
    let request = try #require(script.requests.first)
    #expect(request.method == "GET" && request.path == "/api/v1/apps/a%20b?x=1")
    #expect(request.fields["authorization"] == "Bearer secret" && request.fields["idempotency-key"] == nil)
    _ = try script.client(token: nil).send(OriginCall("GET", "x"))
    #expect(script.requests.last?.fields["authorization"] == nil)
  }

  @Test func answerWithoutABody() throws {
    let script = ScriptedOrigin(.answer(204))
    #expect(try script.client().send(OriginCall("PUT", "x")).isNull)
    #expect(script.requests.count == 1)
  }

  /// An act has one key for all attempts; idempotent requests have none.
  @Test func actKeepsItsKeyAcrossAttempts() throws {
    let script = ScriptedOrigin(ScriptedOrigin.problem(503, "busy"), [.close], ScriptedOrigin.json("{}"))
    _ = try script.client().send(OriginCall("POST", "acts", ["x": 1]))
    let keys = Set(script.requests.map { $0.fields["idempotency-key"] })
    #expect(script.requests.count == 3 && keys.count == 1 && keys.first != .some(nil))
    #expect(script.requests.allSatisfy { $0.body == Array(#"{"x":1}"#.utf8) })
    _ = try script.client().send(OriginCall("POST", "acts"))
    #expect(keys.contains(script.requests.last?.fields["idempotency-key"]) == false)
  }

  /// A refusal is reported with the origin's message and code, and not retried.
  @Test(
    arguments: [
      (400, "bad-request", 1), (401, "token", 1), (404, "unknown-app", 1), (409, "conflict", 3),
      (422, "foreign-hosts", 3), (422, "other", 1),
    ] as [(Int, String, Int32)])
  func refusals(status: Int, code: String, exitCode: Int32) throws {
    let script = ScriptedOrigin(ScriptedOrigin.problem(status, code))
    let client = try script.client()
    let error = try #require(
      originError { () throws(OriginError) in _ = try client.send(OriginCall("GET", "x")) })
    #expect(error.problem?.status == status && error.problem?.code == code && error.problem?.detail == "why")
    #expect(error.exitCode == exitCode && !error.isOutage && script.requests.count == 1)
    #expect(error.message.hasPrefix("why"))
  }

  /// Answers that aren't from an origin: a proxy's page, truncated JSON, members of another kind.
  @Test(
    arguments: [
      .answer(502, [("Content-Type", "text/html")], body: "<h1>Bad Gateway".utf8),
      .answer(404, body: "no".utf8), ScriptedOrigin.json("{"), ScriptedOrigin.json("not JSON"),
      ScriptedOrigin.json(#"{"versions":7}"#),
    ] as [[SocketServer.Step]])
  func notAnOrigin(answer: [SocketServer.Step]) throws {
    struct Document: Codable { let versions: [ManifestVersion] }
    let script = ScriptedOrigin(answer)
    let client = try script.client()
    let error = originError { () throws(OriginError) in _ = try client.get("x", as: Document.self) }
    guard case .notAnOrigin(let server, let found, _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(server == script.url && !found.isEmpty)
  }

  /// A TLS server resets a plain HTTP request; one that begins to answer in HTTP isn't a TLS server.
  @Test func truncatedAnswerIsNotTLS() throws {
    func words(_ steps: [SocketServer.Step]) throws -> String {
      let script = ScriptedOrigin(steps)
      defer { withExtendedLifetime(script) {} }
      let client = try script.client()
      return try #require(
        originError { () throws(OriginError) in _ = try client.send(OriginCall("GET", "x")) }
      ).message
    }
    #expect(try words([.close]).contains("if it uses TLS, use https://"))
    let cut = try words([.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".utf8)), .close])
    #expect(cut.contains("in the middle of its answer") && !cut.contains("TLS"), "\(cut)")
  }

  @Test func connectionRefused() throws {
    let url = ScriptedOrigin(ScriptedOrigin.json("{}")).url
    let client = try OriginClient(server: BaseURL(url), token: nil) { _ in RetryPolicy(attempts: 2, first: 1)
    }
    let error = try #require(
      originError { () throws(OriginError) in _ = try client.send(OriginCall("POST", "x")) })
    #expect(error.isOutage && error.exitCode == 1 && error.problem == nil)
    // The act was never sent, so it can't have been done.
    guard case .unreachable = error else {
      Issue.record("\(error)")
      return
    }
  }

  /// An act that was sent and got no answer may have been done; for a query that doesn't matter.
  @Test func actWithoutAnAnswer() throws {
    let script = ScriptedOrigin([.close])
    let client = try script.client()
    let act = try #require(
      originError { () throws(OriginError) in _ = try client.send(OriginCall("POST", "x")) })
    guard case .unknownOutcome = act else {
      Issue.record("\(act)")
      return
    }
    #expect(act.isOutage)
    let query = try #require(
      originError { () throws(OriginError) in _ = try client.send(OriginCall("GET", "x")) })
    guard case .unreachable = query else {
      Issue.record("\(query)")
      return
    }
  }

  /// Large bodies are coded once the origin has announced support, and sent plain if it no longer does.
  @Test func largeBodiesAreCoded() throws {
    let script = ScriptedOrigin(
      ScriptedOrigin.json("{}", [("Accept-Encoding", "gzip, zstd")]), ScriptedOrigin.json("{}"), .answer(415),
      ScriptedOrigin.json("{}"))
    let client = try script.client()
    let large = ["text": String(repeating: "one and the same ", count: 8_000)]
    _ = try client.send(OriginCall("POST", "x", large))
    #expect(script.requests[0].fields["content-encoding"] == nil)
    _ = try client.send(OriginCall("POST", "x", large))
    #expect(script.requests[1].fields["content-encoding"] == "zstd")
    #expect(script.requests[1].body.count < 1000 && script.requests[0].body.count > 100_000)
    _ = try client.send(OriginCall("POST", "x", large))
    #expect(script.requests.count == 4 && script.requests[2].fields["content-encoding"] == "zstd")
    #expect(script.requests[3].fields["content-encoding"] == nil)
    #expect(script.requests[3].body == script.requests[0].body)
    #expect(client.bytesSent > 200_000)
  }

  @Test func segmentsAreEscaped() {
    #expect(OriginCall.escaped("a/b?c d&é~._-") == "a%2Fb%3Fc%20d%26%C3%A9~._-")
  }
}
