import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

@Suite struct DocumentTests {
  private static let base = "apps/shop/channels/online"

  private static func config(_ api: String = "a") -> JSONValue {
    [
      [
        "interfaces": [["api": .string("https://m.example.com/\(api)"), "method": "get"]],
        "url": "https://m.example.com/p",
      ]
    ]
  }

  private static func push(_ origin: TestOrigin, _ config: JSONValue) throws -> TestOrigin.Reply {
    try origin.api("POST", "\(base)/prefetch", ["document": config, "message": "why"])
  }

  private static func act(_ origin: TestOrigin, _ act: String, _ more: [String: JSONValue] = [:]) throws
    -> TestOrigin.Reply
  {
    var body = JSONObject()
    body["act"] = .string(act)
    for (key, value) in more { body[key] = value }
    return try origin.api("POST", "\(base)/policy", .object(body))
  }

  @Test func documentIsEmptyBeforeTheFirstPush() throws {
    let origin = try TestOrigin()
    #expect(try origin.ask("GET", "/prefetchConfig").status == 404)
    try origin.publish(["a.js": "a"])
    #expect(
      try origin.ask("GET", "/prefetchConfig?app=shop").text
        == #"{"code":200,"data":{"config":[],"name":"prefetchConfig","version":"0"}}"#)
    #expect(
      try origin.ask("GET", "/policy.json?app=shop").text
        == #"{"code":200,"data":{"bypass":[],"intercept":true,"scripts":[],"version":"0"}}"#)
    #expect(
      try origin.ask("GET", "/configure.json?app=shop&version=1").text
        == #"{"code":200,"data":{"update":false,"version":"1"}}"#)
  }

  @Test(arguments: [
    "/prefetchConfig", "/prefetchConfig?app=shop", "/prefetchConfig.json?app=shop&channel=online",
    "/xcache/shop/prefetchConfig.json", "/hxm/xcache/shop/prefetchConfig.json",
  ]) func documentIsAtEachOfItsPaths(path: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    #expect(try Self.push(origin, Self.config()).status == 201)
    let reply = try origin.ask("GET", path)
    #expect(
      reply.text
        == #"{"code":200,"data":{"config":[{"interfaces":[{"api":"https://m.example.com/a","method":"GET"}],"#
        + #""url":"https://m.example.com/p"}],"name":"prefetchConfig","version":"1"}}"#)
    #expect(reply.field("cache-control") == "no-cache" && reply.field("access-control-allow-origin") == "*")
    let tag = try #require(reply.field("etag"))
    #expect(try origin.ask("GET", path, ["If-None-Match: \(tag)"]).status == 304)
    #expect(try origin.ask("HEAD", path).status == 200)
    #expect(try origin.ask("POST", path).status == 405)
  }

  @Test(arguments: [
    "/prefetchConfig?app=other", "/policy.json?app=other", "/xcache/other/policy.json",
    "/xcache_test/shop/policy.json", "/xcache/shop/policy.json/", "/xcache/shop/script/",
    "/xcache/shop/script",
    "/xcache/shop/script/00.js", "/prefetchConfig/",
  ]) func unknownPathsAreNotFound(path: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    #expect(try origin.ask("GET", path).status == 404)
  }

  /// Answers without an update, whole manifests and patches name the newest documents, before and after each change, after a release and
  /// after a restart.
  @Test func everyAnswerNamesTheNewestDocuments() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    let polls = ["version=2", "version=1&patch=1", "version=1"]
    func check(
      _ origin: Origin? = nil, policy: String?, prefetch: String?, interval: Int64?,
      _ ask: (String) throws -> TestOrigin.Reply
    )
      throws
    {
      for poll in polls {
        let data = try ask("/configure.json?app=shop&\(poll)").json["data"]
        #expect(data?["policy"]?.string == policy, "\(poll)")
        #expect(data?["prefetch"]?.string == prefetch, "\(poll)")
        #expect(data?["interval"]?.integer == interval, "\(poll)")
      }
    }
    func check(policy: String?, prefetch: String?, interval: Int64?) throws {
      try check(policy: policy, prefetch: prefetch, interval: interval) { try origin.ask("GET", $0) }
    }
    try check(policy: nil, prefetch: nil, interval: nil)
    _ = try Self.push(origin, Self.config())
    try check(policy: nil, prefetch: "1", interval: nil)
    _ = try Self.act(origin, "kill")
    try check(policy: "1", prefetch: "1", interval: nil)
    _ = try Self.push(origin, Self.config("b"))
    _ = try Self.act(origin, "resume")
    #expect(try origin.api("POST", "\(Self.base)/settings", ["interval": 60]).status == 200)
    try check(policy: "2", prefetch: "2", interval: 60)
    #expect(try origin.api("POST", "\(Self.base)/settings", ["interval": .null]).status == 200)
    try check(policy: "2", prefetch: "2", interval: nil)
    try origin.publish(["a.js": "c"])
    let data = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1").json["data"]
    #expect(
      data?["base"]?.string == "2" && data?["policy"]?.string == "2" && data?["prefetch"]?.string == "2")
    #expect(data?["version"]?.string == "3", "documents make no manifest version")
    let again = try Catalog(origin.store)
    let extras = try #require(again.channels.first).extras
    #expect(extras == AnswerExtras(policy: 2, prefetch: 2))
  }

  /// Answers that differ only in the numbers have different tags, coded or not.
  @Test(arguments: ["version=1", "version=1&digest=00", "version=0"]) func tagsChangeWithTheNumbers(
    poll: String
  ) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": String(repeating: "a", count: 2000)])
    for coding in ["identity", "gzip", "zstd"] {
      func tag() throws -> String? {
        try origin.ask("GET", "/configure.json?app=shop&\(poll)", ["Accept-Encoding: \(coding)"]).field(
          "etag")
      }
      let before = try tag()
      _ = try Self.act(origin, "bypass-add", ["pattern": .string("https://\(coding).example/*")])
      #expect(try before != tag())
    }
  }

  @Test func pushLogRollback() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let first = try Self.push(origin, Self.config())
    #expect(
      first.status == 201 && first.json["version"]?.string == "1" && first.json["replaced"]?.isNull == true)
    #expect(first.json["pages"]?.integer == 1 && first.json["calls"]?.integer == 1)
    let same = try Self.push(origin, ["code": 200, "data": ["config": Self.config(), "version": "9"]])
    #expect(same.status == 200 && same.json["changed"]?.bool == false && same.json["version"]?.string == "1")
    let second = try Self.push(origin, Self.config("b"))
    #expect(second.json["replaced"]?["author"]?.string == "admin")
    let back = try origin.api("POST", "\(Self.base)/prefetch/rollback", ["to": "1"])
    #expect(back.status == 201 && back.json["version"]?.string == "3" && back.json["source"]?.string == "1")
    let shown = try origin.api("GET", "\(Self.base)/prefetch")
    #expect(try shown.json["config"] == origin.api("GET", "\(Self.base)/prefetch?version=1").json["config"])
    #expect(try origin.api("POST", "\(Self.base)/prefetch/rollback", ["to": "7"]).status == 404)
    #expect(
      try origin.api("POST", "\(Self.base)/prefetch/rollback", ["to": "0"]).json["version"]?.string == "4")
    #expect(try origin.ask("GET", "/prefetchConfig").json["data"]?["config"]?.array?.isEmpty == true)
    let log = try origin.api("GET", "\(Self.base)/prefetch/log").json["versions"]?.array ?? []
    #expect(log.compactMap { $0["version"]?.string } == ["4", "3", "2", "1"])
    #expect(log.compactMap { $0["kind"]?.string } == ["rollback", "rollback", "push", "push"])
    #expect(log.last?["manifestVersion"]?.string == "1" && log.last?["message"]?.string == "why")
  }

  @Test func refusalsChangeNothing() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let invalid = try Self.push(origin, [["url": "m.example.com", "interfaces": []]])
    #expect(invalid.status == 422 && invalid.json["code"]?.string == "invalid-document")
    #expect(invalid.json["remarks"]?.array?.first?["path"]?.string == "$[0].url")
    _ = try Self.push(origin, Self.config())
    let conflict = try origin.api(
      "POST", "\(Self.base)/prefetch", ["document": Self.config("b"), "ifVersion": "0"])
    #expect(conflict.status == 409 && conflict.json["newest"]?["version"]?.string == "1")
    let bad: [(String, JSONValue)] = [
      ("prefetch", [:]), ("prefetch", ["document": Self.config("b"), "ifVersion": 1]),
      ("prefetch/rollback", [:]),
      ("policy", [:]), ("policy", ["act": "stop"]), ("policy", ["act": "kill", "until": "tomorrow"]),
      ("policy", ["act": "kill", "until": "2020-01-01T00:00:00Z"]), ("policy", ["act": "bypass-add"]),
      ("policy", ["act": "bypass-add", "pattern": "a.example"]), ("policy", ["act": "set"]),
      ("policy", ["act": "script-add", "name": "x"]), ("settings", [:]), ("settings", ["interval": 29]),
      ("settings", ["interval": "60"]),
    ]
    for (path, body) in bad {
      #expect(try origin.api("POST", "\(Self.base)/\(path)", body).status == 400, "\(path) \(body)")
    }
    #expect(try Self.act(origin, "bypass-remove", ["pattern": "https://a.example/*"]).status == 404)
    #expect(try Self.act(origin, "script-remove", ["name": "x"]).status == 404)
    #expect(try Self.act(origin, "set", ["document": ["intercept": "off"]]).status == 422)
    #expect(try Self.act(origin, "resume").json["changed"]?.bool == false)
    #expect(try origin.api("POST", "apps/other/channels/online/prefetch", ["document": []]).status == 404)
    #expect(
      try origin.ask("GET", "/configure.json?version=1").text
        == #"{"code":200,"data":{"prefetch":"1","update":false,"version":"1"}}"#)
  }

  @Test func scopes() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let read = try origin.store.createToken(name: "reader", scope: .read).text
    let publish = try origin.store.createToken(name: "ci", scope: .publish, app: AppName("shop")).text
    func status(_ path: String, _ body: JSONValue, _ token: String) throws -> Int {
      try origin.api("POST", "\(Self.base)/\(path)", body, token: token).status
    }
    for (path, body) in [
      ("prefetch", ["document": Self.config()]), ("policy", ["act": "kill"]), ("settings", ["interval": 60]),
    ] as [(String, JSONValue)] {
      #expect(try status(path, body, read) == 403)
      #expect((200...201).contains(try status(path, body, publish)))
    }
    #expect(try status("policy", ["act": "script-add", "name": "x"], publish) == 403)
    #expect(try status("policy", ["act": "script-remove", "name": "x"], publish) == 403)
    #expect(
      try origin.api("GET", "\(Self.base)/policy", token: read).json["policy"]?["intercept"]?.bool == false)
    #expect(try origin.api("GET", "\(Self.base)/policy", token: "xcache_no").status == 401)
  }

  @Test func policyActs() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let bytes = Array("console.log(1)".utf8)
    let signature = Base64.encode([UInt8](repeating: 7, count: 64))
    #expect(
      try Self.act(
        origin, "script-add",
        ["bytes": .string(Base64.encode(bytes)), "name": "i", "signature": .string(signature)]
      ).status == 201)
    _ = try Self.act(
      origin, "bypass-add", ["pattern": "HTTPS://a.example/*", "until": "2099-01-01T00:00:00Z"])
    _ = try Self.act(origin, "kill", ["until": "2099-01-01T00:00:00Z"])
    let sha256 = SHA256.of(bytes)
    let download = "https://cdn.example.com/hxm/xcache/shop/script/\(sha256).js"
    #expect(
      try origin.ask("GET", "/policy.json").text
        == #"{"code":200,"data":{"bypass":["https://a.example/*"],"intercept":false,"scripts":[{"download":"#
        + #""\#(download)","name":"i","sha256":"\#(sha256)","signature":"\#(signature)"}],"#
        + #""until":"2099-01-01T00:00:00Z","version":"3"}}"#)
    for path in ["/xcache/shop/script/\(sha256).js", "/hxm/xcache/shop/script/\(sha256).js"] {
      let reply = try origin.ask("GET", path)
      #expect(reply.body == bytes)
      #expect(reply.field("content-type") == "application/javascript;charset=UTF-8")
      #expect(reply.field("cache-control") == "public, max-age=31536000, immutable")
    }
    let overview = try origin.api("GET", Self.base).json
    #expect(overview["policy"]?["policy"]?["intercept"]?.bool == false)
    let document = try origin.ask("GET", "/policy.json").json
    #expect(try Self.act(origin, "set", ["document": document]).json["changed"]?.bool == false)
    _ = try Self.act(origin, "set", ["document": ["intercept": true]])
    #expect(try origin.ask("GET", "/policy.json").json["data"]?["scripts"]?.array?.count == 1)
    _ = try Self.act(origin, "script-remove", ["name": "i"])
    #expect(
      try origin.ask("GET", "/policy.json").text
        == #"{"code":200,"data":{"bypass":[],"intercept":true,"scripts":[],"version":"5"}}"#)
  }
}

/// Concurrent releases, pushes and polls: the numbers in answers only rise, and a patch or manifest made for old numbers is never kept.
@Suite struct DocumentRaceTests {
  @Test func numbersOnlyRise() async throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "0"])
    let store = origin.store
    let app = try AppName("shop")
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 1...40 {
          let request = DocumentRequest(
            app: app, channel: .online, document: .prefetch, kind: .push, author: "ci", message: "")
          _ = try? store.change(request, change: { _, _ in Array("[\(number)]".utf8) })
        }
      }
      group.addTask {
        for number in 1...40 { _ = try? store.set(SettingsChange(interval: 29 + number), of: app, .online) }
      }
    }
    // Whatever the order was, the store's final state is what a fresh catalog has.
    let extras = try #require(try Catalog(store).channels.first).extras
    #expect(extras == AnswerExtras(interval: 69, prefetch: 40))
  }

  @Test func numbersInPollsNeverDecrease() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "0"])
    var last: (Int64, Int64) = (0, 0)
    for round in 1...12 {
      if round.isMultiple(of: 2) { try origin.publish(["a.js": "\(round)"]) }
      let config: JSONValue = [["interfaces": [], "url": .string("https://m.example.com/\(round)")]]
      _ = try origin.api("POST", "apps/shop/channels/online/prefetch", ["document": config])
      for poll in ["version=1&patch=1", "version=1", "version=\(last.0)&patch=1", "version=99"] {
        let data = try origin.ask("GET", "/configure.json?app=shop&\(poll)").json["data"]
        let version = try #require(data?["version"]?.string.flatMap { Int64($0) })
        let prefetch = try #require(data?["prefetch"]?.string.flatMap { Int64($0) })
        #expect(version >= last.0 && prefetch == Int64(round), "round \(round), \(poll)")
        last = (version, prefetch)
      }
    }
    #expect(last == (7, 12))
  }
}
