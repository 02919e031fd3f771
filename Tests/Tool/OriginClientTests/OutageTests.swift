import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import Values

/// Truncated, redirected and slow answers, and which of them are retried.
@Suite struct OutageTests {
  private static func error(
    _ call: OriginCall, _ answers: [SocketServer.Step]...
  ) throws -> (error: OriginError?, requests: [SocketServer.Request], url: String) {
    let origin = answers.count == 1 ? ScriptedOrigin(answers[0]) : ScriptedOrigin(answers[0], answers[1])
    let client = try origin.client(tokenSource: "XCACHE_TOKEN")
    let error = originError { () throws(OriginError) in _ = try client.send(call) }
    return (error, origin.requests, origin.url)
  }

  /// An answer with a Content-Length of 100 that ends after a few bytes.
  private static let cut: [SocketServer.Step] = [
    .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1".utf8)), .close,
  ]

  @Test func truncatedAnswerIsRetried() throws {
    let origin = ScriptedOrigin(Self.cut, ScriptedOrigin.json(#"{"a":1}"#))
    #expect(try origin.client().send(OriginCall("GET", "x")) == ["a": 1])
    #expect(origin.requests.count == 2)
  }

  @Test func repeatedlyTruncatedAnswerIsAnError() throws {
    let (error, requests, _) = try Self.error(OriginCall("GET", "x"), Self.cut)
    guard case .unreachable(_, .cutOff)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(requests.count == 3)
    let (act, tries, _) = try Self.error(OriginCall("POST", "x"), Self.cut)
    guard case .unknownOutcome? = act else {
      Issue.record("\(String(describing: act))")
      return
    }
    // An act is tried three times more, always with the same key.
    #expect(tries.count == 6 && Set(tries.map { $0.fields["idempotency-key"] }).count == 1)
  }

  /// The token is sent to no host except the origin's.
  @Test(arguments: [301, 302, 307, 308]) func redirectsAreNotFollowed(status: Int) throws {
    let other = ScriptedOrigin(ScriptedOrigin.json("{}"))
    let place = "\(other.url)/api/v1/x?token=secret"
    let (error, requests, url) = try Self.error(
      OriginCall("GET", "x"), .answer(status, [("Location", place)]))
    #expect(
      error?.message
        == "\(url) doesn't answer like an xcache origin: it redirects to \(other.url)/api/v1/x, and tokens are not "
        + "sent along; give the origin's own address")
    #expect(requests.count == 1 && other.requests.isEmpty)
  }

  /// The redirecting server chooses what a terminal shows: escape sequences are removed, and the length is limited.
  @Test func redirectTargetIsShownWithoutEscapes() throws {
    let place = "http://evil.example/\u{1B}[2J" + String(repeating: "a", count: 500)
    let (error, _, url) = try Self.error(OriginCall("GET", "x"), .answer(302, [("Location", place)]))
    let message = try #require(error?.message)
    let shown = "http://evil.example/[2J" + String(repeating: "a", count: 200 - 23)
    #expect(message.hasPrefix("\(url) doesn't answer like an xcache origin: it redirects to \(shown), and"))
  }

  @Test func plainHTTPToAPortForTLS() throws {
    let page = "<h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port"
    let (error, _, url) = try Self.error(OriginCall("GET", "x"), .answer(400, body: page.utf8))
    #expect(
      error?.message
        == "\(url) doesn't answer like an xcache origin: that port uses TLS: use https:// in the address")
    #expect(error?.isOutage == false)
  }

  @Test func proxyWithoutAMessage() throws {
    let (error, requests, url) = try Self.error(OriginCall("GET", "x"), .answer(403, body: "no".utf8))
    #expect(
      error?.message.hasPrefix("something in front of \(url) refuses this request (status 403)") == true)
    let (named, _, _) = try Self.error(
      OriginCall("GET", "x"), .answer(403, [("Server", "nginx/1.22.1")], body: "<html>".utf8))
    #expect(named?.message.hasPrefix("nginx in front of http://") == true)
    let (hostile, _, _) = try Self.error(
      OriginCall("GET", "x"), .answer(403, [("Server", "\u{1B}[2J")], body: "<html>".utf8))
    #expect(hostile?.message.hasPrefix("something in front of ") == true && hostile?.isOutage == false)
    #expect(requests.count == 1)
    // If an act may have reached the origin, the message doesn't say that it didn't.
    let (act, _, _) = try Self.error(OriginCall("POST", "x"), .answer(502, body: "<h1>".utf8))
    #expect(
      act?.message.contains("gave no answer (status 502), but may have made the change") == true)
  }

  @Test func tokenSourceIsNamed() throws {
    let (error, _, _) = try Self.error(
      OriginCall("GET", "x"), ScriptedOrigin.problem(401, "token", "unknown"))
    #expect(error?.message == "unknown. It came from XCACHE_TOKEN")
  }

  /// A temporary refusal is retried, and reported with the origin's message.
  @Test func busyOriginIsRetried() throws {
    let (error, requests, _) = try Self.error(
      OriginCall("GET", "x"), ScriptedOrigin.problem(503, "busy", "come back"))
    #expect(error?.message == "come back" && error?.isOutage == true && requests.count == 3)
  }

  /// With too many wrong tokens, the delay is reported, not waited for.
  @Test func longRetryAfterIsReported() throws {
    let (error, requests, _) = try Self.error(
      OriginCall("GET", "x"), ScriptedOrigin.problem(429, "too-many", "wait", [("Retry-After", "50")]))
    #expect(error?.problem?.code == "too-many" && requests.count == 1)
  }

  /// The first attempt is still running at the origin: it is polled until its answer exists.
  @Test func runningActIsWaitedFor() throws {
    let running = ScriptedOrigin.problem(503, "still-running", "wait", [("Retry-After", "0")])
    let origin = ScriptedOrigin(running, running, running, running, ScriptedOrigin.json(#"{"a":1}"#))
    #expect(try origin.client().send(OriginCall("POST", "x", ["b": 1])) == ["a": 1])
    #expect(origin.requests.count == 5)
    #expect(Set(origin.requests.map { $0.fields["idempotency-key"] }).count == 1)
  }

  @Test func answerOverTheLimit() throws {
    var call = OriginCall("GET", "x")
    call.limit = 10
    let (error, requests, _) = try Self.error(call, ScriptedOrigin.json(#"{"a":"0123456789"}"#))
    guard case .unreachable(_, .answerTooLong(10))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(requests.count == 1)
  }

  @Test func memberOfAnotherTypeIsNamed() throws {
    let origin = ScriptedOrigin(ScriptedOrigin.json(#"{"pins":[{"version":7}]}"#))
    let client = try origin.client()
    let address = ChannelAddress(try AppName("shop"), .online)
    let error = originError { () throws(OriginError) in _ = try client.pins(of: address) }
    #expect(error?.message.contains("pins[0].") == true, "\(error?.message ?? "")")
  }

  // MARK: Several requests

  @Test func manyDigestsAreQueriedInParts() throws {
    let digests = (0...MissingBlobsRequest.limit).map { SHA256.of(Array("\($0)".utf8)) }
    let first = digests[0].hex
    let last = digests[MissingBlobsRequest.limit].hex
    // The first part's answer lists existing blobs; the second's, as of an older origin, missing ones.
    let origin = ScriptedOrigin(
      ScriptedOrigin.json(
        String(
          decoding: JSONValue(
            encoding: MissingBlobsAnswer(present: Array(digests[1..<MissingBlobsRequest.limit]))
          ).canonical,
          as: UTF8.self)), ScriptedOrigin.json(#"{"missing":["\#(last)"]}"#))
    let missing = try origin.client().missing(of: digests)
    #expect(Set(missing.map(\.hex)) == [first, last])
    let counts = try origin.requests.map { try JSONValue.parse($0.body)["sha256"]?.array?.count }
    #expect(counts == [MissingBlobsRequest.limit, 1])
    #expect(origin.requests.allSatisfy { $0.fields["idempotency-key"] == nil })
    #expect(try origin.client().missing(of: []) == [] && origin.requests.count == 2)
  }

  private static let answer =
    #"{"added":0,"at":"2026-11-20T15:17:27.000Z","bundles":[],"bytes":0,"changed":false,"changed_count":0,"#
    + #""createdApp":false,"createdChannel":false,"deltasStored":false,"missing":[],"newBytes":0,"previous":"8","#
    + #""receipt":null,"removed":0,"resources":0,"version":"9"}"#

  /// A prepared plan isn't sent again, unless the origin has dropped it.
  @Test func releaseNamesItsPlan() throws {
    let address = ChannelAddress(try AppName("shop"), .online)
    let request = ReleaseRequest(
      changes: [.unpublish(try BundleName("web"))], options: ReleaseOptions(message: "m"))
    let plan = SHA256.of([1])
    let origin = ScriptedOrigin(
      ScriptedOrigin.problem(404, "unknown-plan"), ScriptedOrigin.json(Self.answer))
    #expect(try origin.client().release(request, plan: plan, in: address).value.version == ManifestVersion(9))
    #expect(
      origin.requests.map { String(decoding: $0.body, as: UTF8.self) } == [
        #"{"dryRun":false,"ifVersion":null,"message":"m","now":false,"plan":"\#(plan.hex)"}"#,
        String(decoding: request.json, as: UTF8.self),
      ])
    // A new act: with the same key, the origin would repeat the first refusal.
    #expect(Set(origin.requests.map { $0.fields["idempotency-key"] }).count == 2)
    // Any other refusal is returned.
    let refusing = ScriptedOrigin(ScriptedOrigin.problem(409, "version"))
    let client = try refusing.client()
    let error = originError { () throws(OriginError) in
      _ = try client.release(request, plan: plan, in: address)
    }
    #expect(error?.exitCode == 3 && refusing.requests.count == 1)
  }

  @Test func planIsInTheValueOnly() throws {
    let plan = String(repeating: "ab", count: 32)
    let origin = ScriptedOrigin(
      ScriptedOrigin.json(
        #"{"cost":{},"deltas":0,"done":false,"files":1,"filesDone":0,"id":"p1","late":false,"milliseconds":1,"#
          + #""newer":true,"plan":"\#(plan)","ready":false}"#))
    let address = ChannelAddress(try AppName("shop"), .online)
    let answer = try origin.client().prepare(
      ReleaseRequest(changes: [], options: ReleaseOptions()).json, in: address)
    #expect(answer.value.plan?.hex == plan)
    #expect(
      answer.document["plan"] == nil && answer.document["newer"] == true && answer.document["id"] == "p1")
    #expect(origin.requests.first?.fields["idempotency-key"] == nil)
  }

  /// Files are requested from the origin, wherever its download URLs lead.
  @Test func filesComeFromTheOriginItself() throws {
    let origin = ScriptedOrigin(.answer(body: "bytes".utf8))
    let client = try origin.client()
    let download = "https://cdn.example.com/prefix/xcache/12/9/3/0f8e/a.js"
    #expect(client.file(download, limit: 100) == Array("bytes".utf8))
    #expect(origin.requests.last?.path == "/xcache/12/9/3/0f8e/a.js")
    #expect(origin.requests.last?.fields["authorization"] == nil)
    #expect(client.file(download, limit: 4) == nil)
    let none = ScriptedOrigin(.answer(404))
    #expect(try none.client().file(download, limit: 100) == nil)
  }

  @Test func unreadableBodyIsALocalError() throws {
    struct Gone: Error {}
    var call = OriginCall("PUT", "blobs/x")
    call.body = .stream(length: 10) { _, _ in throw Gone() }
    let (error, _, _) = try Self.error(call, ScriptedOrigin.json("{}"))
    guard case .body(let cause)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause is Gone && error?.isOutage == false)
  }
}
