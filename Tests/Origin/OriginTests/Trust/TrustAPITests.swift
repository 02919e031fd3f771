import Manifests
import OriginAPI
import Store
import System
import Testing
import Trust
import Values

@testable import Origin

/// `/apps/{app}/trust…`, and what else people see of signatures.
@Suite struct TrustAPITests {
  private func token(_ origin: TestOrigin, _ scope: String, _ limits: [String: String] = [:]) throws -> String
  {
    var body = JSONObject()
    body["name"] = .string("t\(SHA256.of(Secrets.random(8)).hex.prefix(8))")
    body["scope"] = .string(scope)
    for (key, value) in limits { body[key] = .string(value) }
    return try #require(try origin.api("POST", "tokens", .object(body)).json["token"]?.string)
  }

  @Test func overviewHasContentsBeforeTheFirstRoot() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one", "b.js": "b"])
    try origin.publish(["t.js": "t"], channel: "test")
    let overview = try origin.api("GET", TestOrigin.trust).json
    #expect(overview["app"]?.string == "shop" && overview["roots"]?.array?.isEmpty == true)
    let channels = overview["channels"]?.array ?? []
    #expect(channels.map { $0["channel"]?.string } == ["online", "test"])
    #expect(channels.first?["head"]?.isNull == true && channels.first?["prefetch"]?.isNull == true)
    let main = channels.first?["bundles"]?.array?.first
    #expect(main?["content"]?.string == (try origin.content(["a.js": "one", "b.js": "b"])).hex)
    #expect(main?["serial"]?.isNull == true && main?["keys"]?.array?.isEmpty == true)
    #expect(try origin.api("GET", "apps/other/trust").json["code"]?.string == "unknown-app")
    #expect(try origin.api("GET", "apps/-/trust").status == 400)
  }

  @Test func overviewSaysWhoSignedWhat() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    let overview = try origin.api("GET", TestOrigin.trust).json
    #expect(overview["roots"]?.array?.count == 1)
    #expect(overview["roots"]?.array?.first?["envelope"] == root.envelope.json)
    #expect(overview["headKeys"]?.array?.count == 1)
    let channel = overview["channels"]?.array?.first
    #expect(channel?["head"]?["version"]?.string == "3")
    for bundle in channel?["bundles"]?.array ?? [] {
      #expect(bundle["keys"]?.array?.map(\.string) == [publisher.releaseKey.trustKey.id.text])
      #expect(bundle["serial"]?.integer == 1000 && bundle["problem"]?.isNull == true)
    }
    let reader = try token(origin, "read")
    let seen = try origin.api("GET", TestOrigin.trust, token: reader).json
    #expect(seen["headKeys"]?.array?.isEmpty == true && seen["channels"]?.array?.count == 1)
  }

  @Test func whoMayDoWhat() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    try origin.publish(["t.js": "t"], channel: "test")
    let publisher = TestPublisher()
    let ofTest = try token(origin, "publish", ["app": "shop", "channel": "test"])
    let seen = try origin.api("GET", TestOrigin.trust, token: ofTest).json["channels"]?.array
    #expect(seen?.map { $0["channel"]?.string } == ["test"])
    let ofOther = try token(origin, "admin", ["app": "other"])
    let ofChannel = try token(origin, "admin", ["app": "shop", "channel": "online"])
    let ofApp = try token(origin, "admin", ["app": "shop"])
    let plain = try token(origin, "publish")
    for (path, body, allowed) in [
      ("head-key", [:], [ofApp]), ("root", [:], [ofApp]),
      ("statements", [:], [ofApp, plain, ofTest, ofChannel]),
    ] as [(String, JSONValue, [String])] {
      for token in [ofTest, ofOther, ofChannel, ofApp, plain] {
        let reply = try origin.api("POST", "\(TestOrigin.trust)/\(path)", body, token: token)
        #expect((reply.status == 403) == !allowed.contains(token), "\(path): \(reply.text)")
      }
    }
    // What a limited token may sign for.
    let content = SHA256.of([])
    let news = try token(origin, "publish", ["app": "shop", "bundles": "news"])
    for (bundle, channel, token) in [("main", ChannelName.online, ofTest), ("main", .online, news)] {
      let statement = try publisher.statement(bundle, content, channels: [channel], serial: 1)
      let reply = try origin.api(
        "POST", "\(TestOrigin.trust)/statements", ["releases": [statement]], token: token)
      #expect(reply.status == 403, "\(reply.text)")
    }
    // With a release, too: a floor counts in each channel that a statement names.
    var release = try origin.release(["t.js": "two"], channel: "test").object ?? JSONObject()
    release["statements"] = [
      try publisher.statement("main", content, channels: [.online, try ChannelName("test")], serial: 1)
    ]
    let refused = try origin.api("POST", "apps/shop/channels/test/releases", .object(release), token: ofTest)
    #expect(refused.status == 403 && refused.text.contains("channel online"), "\(refused.text)")
    let prefetch = try publisher.prefetch(content, serial: 1)
    let body: JSONValue = ["prefetch": [prefetch]]
    #expect(try origin.api("POST", "\(TestOrigin.trust)/statements", body, token: news).status == 403)
  }

  @Test func badRequestsAreRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let publisher = TestPublisher()
    let statement = try publisher.statement("main", SHA256.of([]), serial: 1)
    for (path, body, status, code) in [
      ("root", [:], 400, "bad-request"), ("root", ["root": "x"], 400, "bad-request"),
      ("root", ["root": statement], 400, "bad-request"), ("root", ["other": 1], 400, "bad-request"),
      ("statements", ["releases": [["payload": 1]]], 400, "bad-request"),
      ("statements", [:], 400, "bad-request"), ("statements", ["releases": [statement]], 404, "no-root"),
    ] as [(String, JSONValue, Int, String)] {
      let reply = try origin.api("POST", "\(TestOrigin.trust)/\(path)", body)
      #expect(reply.status == status && reply.json["code"]?.string == code, "\(path): \(reply.text)")
    }
    // Without statements, devices would refuse what there is.
    let root = try publisher.root(1, head: origin.headKey())
    let unsigned = try origin.api("POST", "\(TestOrigin.trust)/root", ["root": root.envelope.json])
    #expect(unsigned.status == 409 && unsigned.json["code"]?.string == "unsigned", "\(unsigned.text)")
    #expect(try origin.ask("GET", "/configure.json?app=shop").json["data"]?["root"] == nil)
    let second = try publisher.root(2, head: origin.headKey())
    let early = try origin.push(second, by: publisher, serial: 1)
    #expect(early.json["code"]?.string == "root-refused", "\(early.text)")
  }

  @Test func headKeyIsMadeOnce() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let made = try origin.api("POST", "\(TestOrigin.trust)/head-key", [:])
    #expect(made.status == 201 && made.json["isNew"]?.bool == true, "\(made.text)")
    let same = try origin.api("POST", "\(TestOrigin.trust)/head-key", [:])
    #expect(same.status == 200 && same.json["keyid"] == made.json["keyid"])
    let other = try origin.api("POST", "\(TestOrigin.trust)/head-key", ["another": true])
    #expect(other.status == 201 && other.json["keyid"] != made.json["keyid"])
    #expect(try origin.api("POST", "apps/other/trust/head-key", [:]).json["code"]?.string == "unknown-app")
  }

  @Test func repeatedRequestGetsTheFirstAnswer() throws {
    let origin = try TestOrigin()
    let publisher = TestPublisher()
    try origin.publish(["a.js": "one"])
    let root = try publisher.root(1, head: origin.headKey())
    let content = try #require(try origin.contents()["main"])
    let body: JSONValue = [
      "releases": [try publisher.statement("main", content, serial: 1)], "root": root.envelope.json,
    ]
    let lines = ["Authorization: Bearer \(origin.token)", "Idempotency-Key: 0123456789abcdef"]
    let replies = try (0..<2).map { _ in
      try origin.ask("POST", "/api/v1/\(TestOrigin.trust)/root", lines, body: body.canonical)
    }
    #expect(replies[0].status == 201 && replies[1].status == 201 && replies[0].body == replies[1].body)
  }

  /// Whoever looks at a channel, or releases, hears that devices don't take it.
  @Test func originWithoutAHeadKeySaysSo() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    let channel = "apps/shop/channels/online"
    #expect(try origin.api("GET", channel).json["headProblem"] == nil)
    let files = ["a.js": "two", "b.js": "b"]
    #expect(try origin.publish(files, signedBy: publisher, serial: 2000).json["headProblem"] == nil)
    for name in try Folder.textNames("\(origin.folder)/keys") {
      try Kernel.remove("\(origin.folder)/keys/\(name)")
    }
    #expect(try origin.api("GET", channel).json["headProblem"]?.string == "no-head-key")
    let back = try origin.api("POST", "\(channel)/rollback", ["allBundles": true, "steps": 1])
    #expect(back.status == 201 && back.json["headProblem"]?.string == "no-head-key", "\(back.text)")
    let made = try origin.publish(files, signedBy: publisher, serial: 3000)
    #expect(made.status == 201 && made.json["headProblem"]?.string == "no-head-key", "\(made.text)")
    // A root that follows is taken all the same, and the answer says that it doesn't help.
    let known = try #require(root.document.keys.values.first { root.document.heads.contains($0.id) })
    let second = try origin.push(try publisher.root(2, head: known), by: publisher, serial: 4000)
    #expect(second.status == 201 && second.json["headKey"]?.bool == false, "\(second.text)")
    let third = try origin.push(try publisher.root(3, head: origin.headKey()), by: publisher, serial: 5000)
    #expect(third.status == 201 && third.json["headKey"] == nil, "\(third.text)")
    #expect(try origin.api("GET", channel).json["headProblem"] == nil)
    var device = TestDevice(try publisher.root(3, head: origin.headKey()))
    #expect(try device.poll(origin) == nil && device.held?.manifest.version.text == "6")
  }

  @Test func repeatedRequestMakesOneHeadKey() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let lines = ["Authorization: Bearer \(origin.token)", "Idempotency-Key: 0123456789abcdef"]
    let replies = try (0..<2).map { _ in
      try origin.ask(
        "POST", "/api/v1/\(TestOrigin.trust)/head-key", lines, body: Array(#"{"another":true}"#.utf8))
    }
    #expect(replies[0].status == 201 && replies[0].body == replies[1].body)
    #expect(try origin.store.headKeys().count == 1)
  }

  @Test func dryRunOfARollbackIsRefusedLikeTheRealOne() throws {
    let (origin, publisher, _) = try TestOrigin.trusted()
    var body = try origin.release(["a.js": "two", "b.js": "b"]).object ?? JSONObject()
    let content = try origin.content(["a.js": "two", "b.js": "b"])
    body["statements"] = [try publisher.statement("main", content, serial: 2000, floor: 2000)]
    #expect(try origin.api("POST", "apps/shop/channels/online/releases", .object(body)).status == 201)
    for dryRun in [true, false] {
      let reply = try origin.api(
        "POST", "apps/shop/channels/online/rollback",
        ["allBundles": true, "dryRun": .bool(dryRun), "steps": 1])
      #expect(reply.status == 409 && reply.json["code"]?.string == "unsigned", "\(reply.text)")
      #expect(reply.text.contains("below the floor") && !reply.text.contains("--sign-key"))
    }
  }

  @Test func failedChecksAreReportedAndShown() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let reasons = TrustStep.allCases.map { "trust-\($0.rawValue)" } + ["trust-stale"]
    for reason in reasons {
      let report: JSONValue = ["reason": .string(reason), "url": "", "version": "1"]
      #expect(try origin.ask("POST", "/report?app=shop", body: report.canonical).status == 200, "\(reason)")
    }
    let unknown: JSONValue = ["reason": "trust-other", "url": "", "version": "1"]
    #expect(try origin.ask("POST", "/report?app=shop", body: unknown.canonical).status == 400)
    origin.origin.adoption.flush()
    let shown = try origin.api("GET", "apps/shop/channels/online/adoption").json["failures"]?.array ?? []
    #expect(Set(shown.compactMap { $0["reason"]?.string }) == Set(reasons))
    let metrics = try origin.ask("GET", "/metrics").text
    for reason in reasons { #expect(metrics.contains("reason=\"\(reason)\""), "\(reason)") }
  }

  @Test func metricsTellOfOldHeadsAndMissingSpares() throws {
    let (origin, _, _) = try TestOrigin.trusted()
    let text = try origin.ask("GET", "/metrics").text
    #expect(text.contains("xcache_head_age_seconds{app=\"shop\",channel=\"online\"} "))
    #expect(text.contains("xcache_root_spare_keys{app=\"shop\"} 1\n"))
  }
}
