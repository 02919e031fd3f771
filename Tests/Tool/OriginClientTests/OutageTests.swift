import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import Values

/// Answers that break off, lead elsewhere or come late, and what of that is tried again.
@Suite struct OutageTests {
  private static func error(
    _ call: OriginCall, _ answers: [SocketServer.Step]...
  ) throws -> (error: OriginError?, requests: [SocketServer.Request], url: String) {
    let origin = answers.count == 1 ? ScriptedOrigin(answers[0]) : ScriptedOrigin(answers[0], answers[1])
    let client = try origin.client(tokenSource: "XCACHE_TOKEN")
    let error = originError { () throws(OriginError) in _ = try client.send(call) }
    return (error, origin.requests, origin.url)
  }

  /// An answer that says it has 100 bytes and ends after a few.
  private static let cut: [SocketServer.Step] = [
    .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1".utf8)), .close,
  ]

  @Test func anAnswerThatBreaksOffIsAskedForAgain() throws {
    let origin = ScriptedOrigin(Self.cut, ScriptedOrigin.json(#"{"a":1}"#))
    #expect(try origin.client().send(OriginCall("GET", "x")) == ["a": 1])
    #expect(origin.requests.count == 2)
  }

  @Test func oneThatAlwaysBreaksOffIsNone() throws {
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
    // An act is tried three times more, always by the same name.
    #expect(tries.count == 6 && Set(tries.map { $0.fields["idempotency-key"] }).count == 1)
  }

  /// A token goes to nobody that the origin's address doesn't name.
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

  /// Whoever redirects chooses what a terminal is shown: no escape sequence, and no more than a line of it.
  @Test func aRedirectsTargetIsShownPlainly() throws {
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

  @Test func aProxyWithoutWords() throws {
    let (error, requests, url) = try Self.error(OriginCall("GET", "x"), .answer(403, body: "no".utf8))
    #expect(
      error?.message.hasPrefix("something in front of \(url) refuses this request (status 403)") == true)
    let (named, _, _) = try Self.error(
      OriginCall("GET", "x"), .answer(403, [("Server", "nginx/1.22.1")], body: "<html>".utf8))
    #expect(named?.message.hasPrefix("nginx in front of http://") == true)
    let (evil, _, _) = try Self.error(
      OriginCall("GET", "x"), .answer(403, [("Server", "\u{1B}[2J")], body: "<html>".utf8))
    #expect(evil?.message.hasPrefix("something in front of ") == true && evil?.isOutage == false)
    #expect(requests.count == 1)
    // Where an act may have got through to the origin, nobody says that it didn't.
    let (act, _, _) = try Self.error(OriginCall("POST", "x"), .answer(502, body: "<h1>".utf8))
    #expect(
      act?.message.contains("gave no answer (status 502), but may have made the change") == true)
  }

  @Test func theTokensPlaceIsTold() throws {
    let (error, _, _) = try Self.error(
      OriginCall("GET", "x"), ScriptedOrigin.problem(401, "token", "unknown"))
    #expect(error?.message == "unknown. It came from XCACHE_TOKEN")
  }

  /// A refusal that only time cures is tried again, and told in its own words.
  @Test func whoIsBusyIsAskedAgain() throws {
    let (error, requests, _) = try Self.error(
      OriginCall("GET", "x"), ScriptedOrigin.problem(503, "busy", "come back"))
    #expect(error?.message == "come back" && error?.isOutage == true && requests.count == 3)
  }

  /// Too many wrong tokens: the wait is told, not sat out.
  @Test func aLongWaitIsNotSatOut() throws {
    let (error, requests, _) = try Self.error(
      OriginCall("GET", "x"), ScriptedOrigin.problem(429, "too-many", "wait", [("Retry-After", "50")]))
    #expect(error?.problem?.code == "too-many" && requests.count == 1)
  }

  /// The first attempt goes on at the origin: it is asked for until its answer is there.
  @Test func anActThatIsStillRunningIsWaitedFor() throws {
    let running = ScriptedOrigin.problem(503, "still-running", "wait", [("Retry-After", "0")])
    let origin = ScriptedOrigin(running, running, running, running, ScriptedOrigin.json(#"{"a":1}"#))
    #expect(try origin.client().send(OriginCall("POST", "x", ["b": 1])) == ["a": 1])
    #expect(origin.requests.count == 5)
    #expect(Set(origin.requests.map { $0.fields["idempotency-key"] }).count == 1)
  }

  @Test func anAnswerLongerThanWanted() throws {
    var call = OriginCall("GET", "x")
    call.limit = 10
    let (error, requests, _) = try Self.error(call, ScriptedOrigin.json(#"{"a":"0123456789"}"#))
    guard case .unreachable(_, .answerTooLong(10))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(requests.count == 1)
  }

  @Test func whatDoesNotFitIsNamed() throws {
    let origin = ScriptedOrigin(ScriptedOrigin.json(#"{"pins":[{"version":7}]}"#))
    let client = try origin.client()
    let address = ChannelAddress(try AppName("shop"), .online)
    let error = originError { () throws(OriginError) in _ = try client.pins(of: address) }
    #expect(error?.message.contains("pins[0].") == true, "\(error?.message ?? "")")
  }

  // MARK: What is made of several requests

  @Test func manyDigestsAreAskedAboutInParts() throws {
    let digests = (0...MissingBlobsRequest.limit).map { SHA256.of(Array("\($0)".utf8)) }
    let first = digests[0].hex
    let last = digests[MissingBlobsRequest.limit].hex
    // The first part is told as what is there; the second, as an older origin does, as what is missing.
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

  /// What a preparation was given isn't sent again, unless the origin has dropped it.
  @Test func aReleaseNamesItsPlan() throws {
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
    // A new act: the origin would answer the first one's name with the first one's refusal.
    #expect(Set(origin.requests.map { $0.fields["idempotency-key"] }).count == 2)
    // Any other refusal is the answer.
    let refusing = ScriptedOrigin(ScriptedOrigin.problem(409, "version"))
    let client = try refusing.client()
    let error = originError { () throws(OriginError) in
      _ = try client.release(request, plan: plan, in: address)
    }
    #expect(error?.exitCode == 3 && refusing.requests.count == 1)
  }

  @Test func aPreparationsPlanIsInItsValueAlone() throws {
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

  /// A file is asked of the origin itself, wherever its download leads devices.
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

  @Test func aBodyThatCannotBeReadIsNotTheOriginsFault() throws {
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
