import Store
import System
import Testing
import Values

@testable import Origin

/// Channels and tokens with a list of allowed hosts.
@Suite struct HostBoundsTests {
  private static let online = "apps/shop/channels/online"
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
  }

  private func limit(_ hosts: JSONValue, token: String? = nil) throws -> TestOrigin.Reply {
    try origin.api("POST", "\(Self.online)/settings", ["hosts": hosts], token: token)
  }

  private func token(_ hosts: JSONValue, scope: String = "publish") throws -> TestOrigin.Reply {
    try origin.api("POST", "tokens", ["hosts": hosts, "name": "ci", "scope": .string(scope)])
  }

  private func version() throws -> String? {
    try origin.ask("GET", "/configure.json").json["data"]?["version"]?.string
  }

  /// A release whose URLs have this host only.
  private func release(_ host: String, _ text: String) throws -> JSONValue {
    let body = try origin.release(["a.js": text, "b.js": text], bundle: "other")
    let words = String(decoding: body.canonical, as: UTF8.self)
    return try JSONValue.parse(Array(words.replacing("m.example.com", with: host).utf8))
  }

  private static func isForeign(_ reply: TestOrigin.Reply, _ words: String...) -> Bool {
    reply.status == 422 && reply.json["code"]?.string == "foreign-hosts"
      && words.allSatisfy(reply.text.contains)
  }

  @Test func releaseOutsideTheChannelsHostsIsRefused() throws {
    #expect(try limit(["m.example.com", "*.example.org"]).json["hosts"]?.array?.count == 2)
    let bank = try release("bank.example.net", "1")
    let rows = try origin.store.auditHead().row
    for path in ["releases", "preparations"] {
      let reply = try origin.api("POST", "\(Self.online)/\(path)", bank)
      #expect(
        Self.isForeign(reply, "bank.example.net/a.js", "m.example.com, *.example.org", "channel set --hosts"),
        "\(path): \(reply.text)")
      #expect(reply.json["count"]?.integer == 2)
    }
    var dry = try #require(bank.object)
    dry["dryRun"] = true
    #expect(Self.isForeign(try origin.api("POST", "\(Self.online)/releases", .object(dry))))
    #expect(try version() == "1" && origin.store.auditHead().row == rows)
    // Nothing was stored.
    #expect(throws: (any Error).self) { _ = try origin.store.open(SHA256.of(Array("1".utf8))) }

    #expect(try origin.api("POST", "\(Self.online)/releases", release("x.example.org", "1")).status == 201)
    #expect(try limit(.null).json["hosts"]?.isNull == true)
    #expect(try origin.api("POST", "\(Self.online)/releases", bank).status == 201)
    // Live files of other hosts stay and can be removed, but not restored.
    #expect(try limit(["m.example.com"]).status == 200)
    #expect(try origin.publish(["a.js": "two"]).status == 201)
    let out: JSONValue = ["bundles": [["bundle": "other", "unpublish": true]]]
    #expect(try origin.api("POST", "\(Self.online)/releases", out).status == 201)
    let back = try origin.api("POST", "\(Self.online)/rollback", ["allBundles": true, "steps": 1])
    #expect(Self.isForeign(back, "bank.example.net"))
    let main = try origin.api("POST", "\(Self.online)/rollback", ["bundle": "main", "steps": 1])
    #expect(main.status == 201)
    #expect(try limit(["*"]).json["hosts"]?.isNull == true)
    #expect(try origin.api("POST", "\(Self.online)/rollback", ["allBundles": true, "to": "3"]).status == 201)
  }

  @Test func tokensAndChannelsHostsBothApply() throws {
    let secret = try #require(try token(["*.example.com", "x.example.org"]).json["token"]?.string)
    #expect(try origin.api("GET", "tokens").text.contains(#""hosts":["*.example.com","x.example.org"]"#))
    let outside = try origin.api(
      "POST", "\(Self.online)/releases", release("y.example.org", "1"), token: secret)
    #expect(Self.isForeign(outside, "token \\\"ci\\\"", "y.example.org"))
    _ = try limit(["m.example.com"])
    let both = try origin.api("POST", "\(Self.online)/releases", release("x.example.org", "1"), token: secret)
    #expect(Self.isForeign(both, "channel \\\"online\\\""))
    let own = try origin.api("POST", "\(Self.online)/releases", release("m.example.com", "1"), token: secret)
    #expect(own.status == 409, "\(own.text)")
    // A limited token can't remove the limit.
    #expect(try limit(.null, token: secret).status == 403)
    #expect(
      try origin.api("POST", "\(Self.online)/settings", ["interval": 60], token: secret).status == 200)
    #expect(try token(["a.example.com"], scope: "admin").status == 400)
  }

  @Test func promotionsAndPrefetchConfigsAreLimitedToo() throws {
    func config(_ page: String, _ api: String) -> JSONValue {
      let call: JSONValue = ["api": .string("https://\(api)/i"), "method": "GET"]
      return ["document": [["interfaces": [call], "url": .string("https://\(page)/p")]]]
    }
    let secret = try #require(try token(["m.example.com", "t.example.com"]).json["token"]?.string)
    func push(_ page: String, _ api: String, to channel: String = Self.online) throws -> TestOrigin.Reply {
      try origin.api("POST", "\(channel)/prefetch", config(page, api), token: secret)
    }
    #expect(Self.isForeign(try push("m.example.com", "bank.example.net"), "bank.example.net/i"))
    #expect(Self.isForeign(try push("bank.example.net", "m.example.com")))
    #expect(try push("m.example.com", "m.example.com").status == 201)
    #expect(try push("t.example.com", "t.example.com").status == 201)
    _ = try limit(["m.example.com"])
    let back = try origin.api("POST", "\(Self.online)/prefetch/rollback", ["to": "1"])
    #expect(back.status == 201)
    #expect(Self.isForeign(try origin.api("POST", "\(Self.online)/prefetch/rollback", ["to": "2"])))

    let test = "apps/shop/channels/test"
    try origin.publish(["a.js": "test"], channel: "test")
    #expect(try push("t.example.com", "t.example.com", to: test).status == 201)
    let with = try origin.api("POST", "\(Self.online)/promote", ["from": "test", "withPrefetch": true])
    #expect(Self.isForeign(with, "t.example.com/p"))
    #expect(try version() == "1")
    let map: JSONValue = [["from": "https://m.example.com/", "to": "https://bank.example.net/"]]
    let mapped = try origin.api("POST", "\(Self.online)/promote", ["from": "test", "map": map])
    #expect(Self.isForeign(mapped, "bank.example.net/a.js"))
    #expect(try origin.api("POST", "\(Self.online)/promote", ["from": "test"]).status == 201)
  }

  @Test(arguments: [
    #"{"hosts":[]}"#, #"{"hosts":"m.example.com"}"#, #"{"hosts":["m.example.com/x"]}"#, #"{"hosts":[1]}"#,
    #"{"hosts":["a.example.com","https://b.example.com"]}"#, #"{"hosts":{}}"#, "{}", #"{"reports":10001}"#,
    #"{"reports":-1}"#, #"{"reports":"1"}"#, #"{"interval":60,"reports":0.5}"#,
  ])
  func invalidSettings(_ body: String) throws {
    let reply = try origin.ask(
      "POST", "/api/v1/\(Self.online)/settings", ["Authorization: Bearer \(origin.token)"],
      body: Array(body.utf8))
    #expect(reply.status == 400, "\(body): \(reply.text)")
    #expect(
      try origin.api("GET", "\(Self.online)/settings").text
        == #"{"hosts":null,"interval":null,"reports":null,"samples":true}"#)
  }

  @Test func settingsAreAudited() throws {
    let rows = try origin.store.auditHead().row
    _ = try limit(["m.example.com", "*.Example.org"])
    _ = try origin.api("POST", "\(Self.online)/settings", ["hosts": .null, "reports": 100])
    let acts = try origin.store.auditRows(after: rows, limit: 9).map { "\($0.act) \($0.parameters)" }
    #expect(acts.count == 2 && acts[0].contains("*.example.org") && acts[1].contains("reports"))
    #expect(try origin.ask("GET", "/configure.json?version=1").json["data"]?["reports"]?.integer == 100)
  }
}
