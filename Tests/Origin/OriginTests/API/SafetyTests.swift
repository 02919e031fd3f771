import Store
import System
import Testing
import Values

@testable import Origin

/// What an origin refuses from any client: secrets, and channels created by accident.
@Suite struct SafetyTests {
  private static let releases = "apps/shop/channels/online/releases"
  private static let key =
    "a\n-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHYx3kQ0m9dJrS1bZpLwT8uVfGz7aEoN5cRiXsKy2Dq4\n-----END PRIVATE KEY-----\n"
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
  }

  private func release(_ files: [String: String], _ more: [String: JSONValue] = [:]) throws
    -> TestOrigin.Reply
  {
    var body = try #require(try origin.release(files, bundle: "other").object)
    for (name, value) in more { body[name] = value }
    return try origin.api("POST", Self.releases, .object(body))
  }

  @Test func secretIsRefusedWithItsPlace() throws {
    let rows = try origin.store.auditHead().row
    for dryRun in [true, false] {
      let reply = try release(["k.js": Self.key, "b.js": "b", ".env": "A=1"], ["dryRun": .bool(dryRun)])
      #expect(reply.status == 422 && reply.json["code"]?.string == "secret", "\(reply.text)")
      let secrets = reply.json["secrets"]?.array ?? []
      #expect(secrets.compactMap { $0["what"]?.string }.sorted() == ["a hidden file", "a private key"])
      #expect(secrets.compactMap { $0["line"]?.integer } == [2])
      #expect(reply.text.contains("k.js:2:1: a private key") && !reply.text.contains("MC4CAQ"))
    }
    #expect(try origin.store.auditHead().row == rows)
  }

  @Test func allowedSecretIsInTheAuditTrail() throws {
    let url = "https://m.example.com/k.js"
    // Permission for another URL doesn't count.
    let other = try release(["k.js": Self.key], ["allowSecrets": ["https://m.example.com/other.js"]])
    #expect(other.status == 422)
    let reply = try release(
      ["k.js": Self.key], ["allowSecrets": [.string(url), "https://m.example.com/other.js"]])
    #expect(reply.status == 201, "\(reply.text)")
    let row = try #require(try origin.store.auditLog(limit: 1).first)
    #expect(row.parameters.contains(#""allowedSecrets":["\#(url):2:1: a private key"]"#))
    #expect(!row.parameters.contains("MC4CAQ") && !row.parameters.contains("other.js:"))
    // Once released, the bytes need no permission under another URL, and a release without secrets records none.
    #expect(try release(["k.js": Self.key, "again.js": Self.key]).status == 201)
    #expect(try origin.store.auditLog(limit: 1).first?.parameters.contains("allowedSecrets") == false)
  }

  @Test func channelIsCreatedOnlyOnRequest() throws {
    let body = try #require(try origin.release(["a.js": "one"]).object)
    let first = try #require(try origin.release(["a.js": "one"], channel: "none").object)
    func send(_ path: String, create: JSONValue?) throws -> TestOrigin.Reply {
      var body = path == "shop/channels/online" ? body : first
      body["create"] = create
      return try origin.api("POST", "apps/\(path)/releases", .object(body))
    }
    let channel = try send("shop/channels/onlnie", create: false)
    #expect(channel.status == 409 && channel.json["code"]?.string == "unknown-channel")
    #expect(channel.text.contains("did you mean online?") && channel.text.contains("--create"))
    let app = try send("shpo/channels/online", create: false)
    #expect(
      app.status == 409 && app.json["code"]?.string == "unknown-app"
        && app.text.contains("did you mean shop?"))
    #expect(try send("shop/channels/online", create: false).status == 200)
    let promote: JSONValue = ["create": false, "from": "online"]
    let target = try origin.api("POST", "apps/shop/channels/tset/promote", promote)
    #expect(target.status == 409 && target.json["code"]?.string == "unknown-channel")
    #expect(try origin.store.channels().count == 1)
    // A client without the member creates the channel, as before; so does create: true.
    #expect(try send("shop/channels/test", create: nil).status == 201)
    #expect(try send("shop/channels/sale", create: true).status == 201)
  }

  @Test func namesOfOtherAppsAreNotSuggested() throws {
    try origin.publish(["a.js": "one"], app: "bank")
    let made = try origin.api("POST", "tokens", ["app": "shop", "name": "ci", "scope": "publish"])
    let token = try #require(made.json["token"]?.string)
    var body = try #require(try origin.release(["a.js": "one"]).object)
    body["create"] = false
    let reply = try origin.api("POST", "apps/shop/channels/bakn/releases", .object(body), token: token)
    #expect(reply.status == 409 && !reply.text.contains("bank"))
  }
}
