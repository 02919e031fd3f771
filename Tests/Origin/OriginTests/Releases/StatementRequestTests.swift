import Manifests
import System
import Testing
import Trust
import Values

@testable import Origin

/// Requests that bring signed statements. Who has signed them is for the store to judge.
@Suite struct StatementRequestTests {
  private let channel = "apps/shop/channels/online"

  private func statement(app: String = "shop", bundle: String = "main") throws -> JSONValue {
    let serial = try #require(Serial(1_790_000_000_000))
    return try Signed(
      ReleaseStatement(
        app: AppName(app), bundle: BundleName(bundle), channels: [.online], content: SHA256.of([1]),
        serial: serial)
    ).signed(by: P256PrivateKey()).envelope.json
  }

  private func prefetchStatement(app: String = "shop") throws -> JSONValue {
    let serial = try #require(Serial(1_790_000_000_000))
    return try Signed(
      PrefetchStatement(app: AppName(app), channels: [.online], content: SHA256.of([1]), serial: serial)
    ).signed(by: P256PrivateKey()).envelope.json
  }

  private func body(_ body: JSONValue, _ key: String, _ value: JSONValue) -> JSONValue {
    var object = body.object ?? JSONObject()
    object[key] = value
    return .object(object)
  }

  /// An app without a root takes them, and has no use for them.
  @Test(arguments: ["releases", "preparations"]) func releaseMayBringStatements(_ act: String) throws {
    let origin = try TestOrigin()
    for list in [[], [try statement()], try (0..<3).map { try statement(bundle: "b\($0)") }] as [[JSONValue]]
    {
      let release = try origin.release(["a.js": "content \(list.count)"])
      let reply = try origin.api("POST", "\(channel)/\(act)", body(release, "statements", .array(list)))
      #expect(reply.status == (act == "releases" ? 201 : 200), "\(reply.text)")
      #expect(reply.json["contents"] == nil && reply.json["unsigned"] == nil)
    }
    let release = try origin.release(["a.js": "none"])
    #expect(try origin.api("POST", "\(channel)/\(act)", body(release, "statements", .null)).status < 300)
  }

  @Test(arguments: ["releases", "preparations"]) func statementsThatAreNoneAreRefused(_ act: String) throws {
    let origin = try TestOrigin()
    let good = try statement()
    var unsigned = good.object ?? JSONObject()
    unsigned["payload"] = "e30="
    let cases: [(JSONValue, String)] = [
      (["a": 1], "\"statements\" must be an array of envelopes"), ("text", "\"statements\" must be"),
      ([good, 1], "\"statements\", number 2: the member payloadType"),
      ([.object(unsigned)], "\"statements\", number 1: the member"),
      ([try prefetchStatement()], "which is another type of document"),
      ([good, try statement(app: "news")], "\"statements\", number 2: it is for app \"news\", not \"shop\""),
      (.array(Array(repeating: good, count: 1001)), "\"statements\" has more than 1000 envelopes"),
    ]
    for (value, words) in cases {
      let release = try origin.release(["a.js": "one"])
      let reply = try origin.api("POST", "\(channel)/\(act)", body(release, "statements", value))
      #expect(reply.status == 400 && reply.json["detail"]?.string?.contains(words) == true, "\(reply.text)")
    }
    #expect(try origin.api("GET", channel).status == 404, "nothing was released")
  }

  @Test func statementsComeOnce() throws {
    let origin = try TestOrigin()
    let text = #"{"statements":[],"bundles":[],"statements":[]}"#
    let reply = try origin.ask(
      "POST", "/api/v1/\(channel)/releases", ["Authorization: Bearer \(origin.token)"], body: Array(text.utf8)
    )
    #expect(reply.status == 400 && reply.text.contains("statements"))
  }

  @Test func promotionsAndRollbacksMayBringStatements() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    try origin.publish(["a.js": "two"])
    let good = try statement()
    let acts: [(String, JSONValue)] = [
      ("apps/shop/channels/test/promote", ["from": "online"]),
      ("\(channel)/rollback", ["allBundles": true, "steps": 1]),
    ]
    for (path, request) in acts {
      let bad = try origin.api("POST", path, body(request, "statements", [good, 1]))
      #expect(bad.status == 400 && bad.text.contains("number 2"), "\(bad.text)")
      let other = try origin.api("POST", path, body(request, "prefetchStatement", good))
      #expect(other.status == 400 && other.text.contains("prefetchStatement"), "\(other.text)")
      let brings = body(
        body(request, "statements", [good]), "prefetchStatement", try prefetchStatement())
      #expect(try origin.api("POST", path, brings).status == 201)
    }
  }

  @Test func prefetchPushMayBringAStatement() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let request: JSONValue = ["document": []]
    let cases: [(JSONValue, String)] = [
      (try statement(), "another type of document"), (1, "\"statement\": the member payloadType"),
      (try prefetchStatement(app: "news"), "it is for app \"news\", not \"shop\""),
    ]
    for (value, words) in cases {
      let reply = try origin.api("POST", "\(channel)/prefetch", body(request, "statement", value))
      #expect(reply.status == 400 && reply.json["detail"]?.string?.contains(words) == true, "\(reply.text)")
    }
    let good = try origin.api(
      "POST", "\(channel)/prefetch", body(request, "statement", try prefetchStatement()))
    #expect(good.status < 300, "\(good.text)")
  }

  /// A token for some bundles gives statements for these.
  @Test func statementsOfOtherBundlesNeedTheirToken() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let made = try origin.api("POST", "tokens", ["bundles": "main", "name": "ci", "scope": "publish"])
    let token = try #require(made.json["token"]?.string)
    let release = try origin.release(["a.js": "two"])
    let refused = try origin.api(
      "POST", "\(channel)/releases", body(release, "statements", [try statement(bundle: "help")]),
      token: token)
    #expect(refused.status == 403, "\(refused.text)")
    let taken = try origin.api(
      "POST", "\(channel)/releases", body(release, "statements", [try statement()]), token: token)
    #expect(taken.status == 201, "\(taken.text)")
  }
}
