import Testing
import Values

@testable import Origin

/// Rollbacks and promotions with the prefetch config, as devices see them.
@Suite struct PrefetchFollowingTests {
  private static let online = "apps/shop/channels/online"
  private static let test = "apps/shop/channels/test"

  private static func config(_ host: String, _ api: String = "a") -> JSONValue {
    let call: JSONValue = [
      "api": .string("https://\(host)/\(api)?x=1"), "body": ["from": .string("https://\(host)/")],
      "method": "POST",
    ]
    return [["interfaces": [call], "url": .string("https://\(host)/p?id=2")]]
  }

  private static func push(_ origin: TestOrigin, _ config: JSONValue, to channel: String = online) throws {
    let reply = try origin.api("POST", "\(channel)/prefetch", ["document": config])
    #expect(reply.status == 201, "\(reply.text)")
  }

  private static func shown(_ origin: TestOrigin, _ folder: String = "xcache") throws -> JSONValue? {
    let poll = try origin.ask("GET", "/\(folder)/shop/configure.json?version=1").json["data"]
    let document = try origin.ask("GET", "/\(folder)/shop/prefetchConfig.json").json["data"]
    // Poll and document always have the same number.
    #expect(poll?["prefetch"] == document?["version"])
    return document?["config"]
  }

  @Test func rollbackRestoresTheConfig() throws {
    let origin = try TestOrigin()
    let (old, new) = (Self.config("m.example.com", "old"), Self.config("m.example.com", "new"))
    try origin.publish(["a.js": "a"])
    try Self.push(origin, old)
    try origin.publish(["a.js": "b"])
    try Self.push(origin, new)
    let body: JSONValue = ["allBundles": true, "dryRun": true, "to": "1", "withPrefetch": true]
    let dry = try origin.api("POST", "\(Self.online)/rollback", body)
    #expect(
      dry.json["prefetch"]?.canonical
        == Array(#"{"changed":true,"kept":false,"source":"1","version":"3"}"#.utf8))
    #expect(try Self.shown(origin) == new)
    let bundle: JSONValue = ["bundle": "main", "to": "1", "withPrefetch": true]
    let done = try origin.api("POST", "\(Self.online)/rollback", bundle)
    #expect(done.status == 201 && done.json["prefetch"]?["version"]?.string == "3", "\(done.text)")
    #expect(try Self.shown(origin) == old)
    // Only the config differs now: no new manifest version.
    try Self.push(origin, new)
    let configOnly = try origin.api("POST", "\(Self.online)/rollback", bundle)
    #expect(
      configOnly.status == 200 && configOnly.json["changed"]?.bool == false
        && configOnly.json["version"]?.string == "3")
    #expect(
      configOnly.json["prefetch"]?["version"]?.string == "5" && configOnly.json["receipt"]?.string != nil)
    #expect(try Self.shown(origin) == old)
    #expect(
      try origin.ask("GET", "/configure.json?version=2&patch=1").json["data"]?["prefetch"]?.string == "5")
  }

  @Test func tokenForSomeBundlesCannotRestoreTheConfig() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    let made = try origin.api("POST", "tokens", ["bundles": "main", "name": "ci", "scope": "publish"])
    let token = made.json["token"]?.string ?? ""
    for (with, status) in [(true, 403), (false, 201)] {
      let body: JSONValue = ["bundle": "main", "steps": 1, "withPrefetch": .bool(with)]
      let reply = try origin.ask(
        "POST", "/api/v1/\(Self.online)/rollback", ["Authorization: Bearer \(token)"], body: body.canonical)
      #expect(reply.status == status, "\(reply.text)")
    }
  }

  @Test func promotionRewritesItsURLs() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "t"], channel: "test")
    try Self.push(origin, Self.config("test.example.com"), to: Self.test)
    let map: JSONValue = [["from": "https://test.example.com", "to": "https://www.example.com"]]
    let body: JSONValue = ["from": "test", "map": map, "withPrefetch": true]
    let done = try origin.api("POST", "\(Self.online)/promote", body)
    #expect(done.status == 201 && done.json["prefetch"]?["source"]?.string == "1", "\(done.text)")
    let call: JSONValue = [
      "api": "https://www.example.com/a?x=1", "body": ["from": "https://test.example.com/"], "method": "POST",
    ]
    let config: JSONValue = [["interfaces": [call], "url": "https://www.example.com/p?id=2"]]
    #expect(try Self.shown(origin) == config)
    let log = try origin.api("GET", "\(Self.online)/prefetch/log").json["versions"]?.array
    #expect(log?.first?["message"]?.string == "promoted from test, version 1")
    let again = try origin.api("POST", "\(Self.online)/promote", body)
    #expect(again.status == 200 && again.json["prefetch"]?["changed"]?.bool == false)
    // At that time --from had no config, so the channel keeps its own.
    let earlier = try origin.api("GET", "\(Self.test)/releases/1").json["at"]?.string ?? ""
    let then: JSONValue = ["from": "test", "version": .string(earlier), "withPrefetch": true]
    let kept = try origin.api("POST", "\(Self.online)/promote", then)
    #expect(kept.json["prefetch"]?["source"]?.string == "0", "\(kept.text)")
    #expect(kept.json["prefetch"]?["kept"]?.bool == true)
    #expect(try Self.shown(origin) == config)
  }

  /// A channel without a config doesn't affect that of another one.
  @Test(arguments: [false, true])
  func promotionFromAChannelWithoutAConfigKeepsTheLiveOne(changesManifest: Bool) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let live = Self.config("m.example.com")
    try Self.push(origin, live)
    try origin.publish(["a.js": changesManifest ? "t" : "a"], channel: "test")
    for isDryRun in [true, false] {
      let body: JSONValue = ["dryRun": .bool(isDryRun), "from": "test", "withPrefetch": true]
      let reply = try origin.api("POST", "\(Self.online)/promote", body)
      #expect(reply.json["changed"]?.bool == changesManifest, "\(reply.text)")
      #expect(
        reply.json["prefetch"]?.canonical
          == Array(#"{"changed":false,"kept":true,"source":"0","version":"1"}"#.utf8))
      #expect(try Self.shown(origin) == live)
    }
    #expect(try origin.api("GET", "\(Self.online)/prefetch/log").json["versions"]?.array?.count == 1)
    // A config that was pushed empty is promoted.
    try Self.push(origin, [], to: Self.test)
    let emptied = try origin.api("POST", "\(Self.online)/promote", ["from": "test", "withPrefetch": true])
    #expect(emptied.json["prefetch"]?["version"]?.string == "2", "\(emptied.text)")
    #expect(try Self.shown(origin) == [])
  }

  /// A rollback restores the state of a time: if there was no config then, the later one is emptied.
  @Test func rollbackToBeforeTheFirstConfigEmptiesIt() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    try Self.push(origin, Self.config("m.example.com"))
    let body: JSONValue = ["allBundles": true, "to": "1", "withPrefetch": true]
    let done = try origin.api("POST", "\(Self.online)/rollback", body)
    #expect(
      done.json["prefetch"]?.canonical
        == Array(#"{"changed":true,"kept":false,"source":"0","version":"2"}"#.utf8), "\(done.text)")
    #expect(try Self.shown(origin) == [])
  }

  @Test func pagesMappedToOneURLAreRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "t"], channel: "test")
    let both = (Self.config("a.example.com").array ?? []) + (Self.config("b.example.com").array ?? [])
    try Self.push(origin, .array(both), to: Self.test)
    let map: JSONValue = [["from": "https://a.example.com", "to": "https://b.example.com"]]
    let reply = try origin.api(
      "POST", "\(Self.online)/promote", ["from": "test", "map": map, "withPrefetch": true])
    #expect(reply.status == 409 && reply.json["code"]?.string == "prefetch-conflict", "\(reply.text)")
    #expect(try origin.api("GET", Self.online).status == 404)
  }

  /// Bundles that --from no longer has are kept and reported; naming one is refused.
  @Test func promotionRemovesNoBundle() throws {
    let origin = try TestOrigin()
    for channel in ["test", "online"] {
      try origin.publish(["a.js": "a"], channel: channel)
      try origin.publish(["b.js": "b"], bundle: "other", channel: channel)
    }
    let gone: JSONValue = ["bundles": [["bundle": "other", "unpublish": true]]]
    #expect(try origin.api("POST", "\(Self.test)/releases", gone).status == 201)
    let reply = try origin.api("POST", "\(Self.online)/promote", ["from": "test"])
    #expect(
      reply.json["changed"]?.bool == false && reply.json["left"]?.array?.compactMap(\.string) == ["other"])
    let named = try origin.api("POST", "\(Self.online)/promote", ["bundle": "other", "from": "test"])
    #expect(named.status == 409 && named.text.contains("xcache unpublish --bundle other"))
  }

  @Test func nameThatDiffersInCaseIsRefusedAtTheFirstCall() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let reply = try origin.api("GET", "apps/Shop/channels/online")
    #expect(reply.status == 409 && reply.json["code"]?.string == "app-name-taken", "\(reply.text)")
    #expect(reply.json["detail"]?.string?.contains("\"shop\"") == true)
  }
}
