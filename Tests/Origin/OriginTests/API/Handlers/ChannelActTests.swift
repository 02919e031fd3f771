import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

@Suite struct ChannelActTests {
  private static let online = "apps/shop/channels/online"

  @Test func frozenChannelRefusesEveryKindOfRelease() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    #expect(try origin.publish(["a.js": "t"], channel: "test").status == 201)
    #expect(try origin.api("POST", "\(Self.online)/freeze", [:]).status == 400)
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "the big sale"]).status == 200)
    let attempts: [(String, JSONValue)] = [
      ("releases", ["bundles": [["bundle": "main", "unpublish": true]]]),
      ("rollback", ["allBundles": true, "steps": 1]), ("promote", ["from": "test"]),
    ]
    for (path, body) in attempts {
      let reply = try origin.api("POST", "\(Self.online)/\(path)", body)
      #expect(reply.status == 409 && reply.json["code"]?.string == "frozen", "\(path): \(reply.text)")
      #expect(reply.json["freeze"]?["author"]?.string == "admin" && reply.text.contains("the big sale"))
    }
    // A dry run is still possible, and its answer has the freeze.
    let dry: JSONValue = ["allBundles": true, "dryRun": true, "steps": 1]
    let forecast = try origin.api("POST", "\(Self.online)/rollback", dry)
    #expect(
      forecast.status == 200 && forecast.json["freeze"]?["author"]?.string == "admin", "\(forecast.text)")
    #expect(try origin.api("GET", Self.online).json["freeze"]?["reason"]?.string == "the big sale")
    #expect(try origin.ask("GET", "/configure.json").json["data"]?["version"]?.string == "2")

    let breakGlass: JSONValue = ["allBundles": true, "breakGlass": "it burns", "steps": 1]
    #expect(try origin.api("POST", "\(Self.online)/rollback", breakGlass).status == 201)
    let release = try origin.api("GET", "\(Self.online)/releases/3").json
    #expect(release["breakGlass"]?["reason"]?.string == "it burns")
    #expect(release["breakGlass"]?["frozenBy"]?.string == "admin")

    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).json["changed"]?.bool == true)
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).json["changed"]?.bool == false)
    #expect(try origin.publish(["a.js": "c"]).status == 201)
    #expect(try origin.api("GET", "\(Self.online)/releases/4").json["breakGlass"]?.isNull == true)
  }

  /// The prefetch config is content like any other; the policy is for emergencies.
  @Test func frozenChannelRefusesPrefetchConfigs() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    func config(_ api: String) -> JSONValue {
      [["interfaces": [["api": .string(api), "method": "GET"]], "url": "https://m.example.com/p"]]
    }
    let first = config("https://m.example.com/1")
    #expect(try origin.api("POST", "\(Self.online)/prefetch", ["document": first]).status == 201)
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "the big sale"]).status == 200)
    let second = config("https://m.example.com/2")
    for (path, body): (String, JSONValue) in [
      ("prefetch", ["document": second]), ("prefetch/rollback", ["to": "0"]),
    ] {
      let reply = try origin.api("POST", "\(Self.online)/\(path)", body)
      #expect(reply.status == 409 && reply.json["code"]?.string == "frozen", "\(path): \(reply.text)")
      #expect(reply.text.contains("the big sale"))
    }
    // An unchanged config isn't a change.
    #expect(try origin.api("POST", "\(Self.online)/prefetch", ["document": first]).status == 200)
    #expect(
      try origin.ask("GET", "/prefetchConfig?app=shop").json["data"]?["version"]?.string == "1")
    let noReason: JSONValue = ["breakGlass": "", "document": second]
    #expect(try origin.api("POST", "\(Self.online)/prefetch", noReason).status == 400)
    let breakGlass: JSONValue = ["breakGlass": "the api moved", "document": second]
    #expect(try origin.api("POST", "\(Self.online)/prefetch", breakGlass).status == 201)
    let back: JSONValue = ["breakGlass": "back again", "to": "1"]
    #expect(try origin.api("POST", "\(Self.online)/prefetch/rollback", back).status == 201)
    let rows = try origin.api("GET", "audit?act=prefetch.push").json["rows"]?.array ?? []
    #expect(rows.first?["parameters"]?.string?.contains(#""breakGlass":"the api moved""#) == true, "\(rows)")
    let kill: JSONValue = ["act": "kill", "message": "it burns"]
    #expect(try origin.api("POST", "\(Self.online)/policy", kill).status == 201)
  }

  /// It would be accepted and have no effect.
  @Test func expiredPolicyIsRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let past: JSONValue = ["intercept": false, "until": "2020-01-01T00:00:00Z"]
    let body: JSONValue = ["act": "set", "document": past]
    let reply = try origin.api("POST", "\(Self.online)/policy", body)
    #expect(reply.status == 422 && reply.json["code"]?.string == "invalid-document", "\(reply.text)")
    #expect(reply.text.contains("2020-01-01T00:00:00Z has passed"))
    #expect(try origin.api("GET", "\(Self.online)/policy").json["version"]?.string == "0")
  }

  /// The sender may rely on a member that would be ignored.
  @Test func entryWithAnUnknownMemberIsRefused() throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a"])
    var change = try #require(body["bundles"]?.array?.first?.object)
    var set = try #require(change["set"]?.object)
    var entry = try #require(set["https://m.example.com/a.js"]?.object)
    entry["urgent"] = true
    set["https://m.example.com/a.js"] = .object(entry)
    change["set"] = .object(set)
    for path in ["releases", "preparations"] {
      let reply = try origin.api(
        "POST", "apps/shop/channels/online/\(path)", ["bundles": [.object(change)]])
      #expect(reply.status == 400, "\(path): \(reply.text)")
      #expect(reply.text.contains("https://m.example.com/a.js") && reply.text.contains("urgent"))
    }
    #expect(try origin.api("GET", "apps").json["channels"]?.array?.isEmpty == true)
    entry["urgent"] = nil
    entry["headers"] = [:]
    set["https://m.example.com/a.js"] = .object(entry)
    change["set"] = .object(set)
    let right = try origin.api("POST", "apps/shop/channels/online/releases", ["bundles": [.object(change)]])
    #expect(right.status == 201, "\(right.text)")
  }

  /// Acts without a dry run, and acts with one that get another unknown member.
  private static let acts: [(path: String, body: JSONValue, member: String)] = [
    ("policy", ["act": "kill", "message": "no"], "dryRun"), ("settings", ["interval": 60], "dryRun"),
    ("freeze", ["reason": "no"], "dryRun"), ("thaw", [:], "dryRun"),
    ("pins", ["reason": "no", "version": "1"], "dryRun"), ("create", [:], "dryRun"),
    ("remove", [:], "dryRun"), ("prefetch/rollback", ["to": "0"], "dryRun"),
    ("rollback", ["allBundles": true, "steps": 1], "dryrun"), ("promote", ["from": "test"], "dryrun"),
    ("releases", ["bundles": [["bundle": "main", "unpublish": true]]], "dryrun"),
    ("preparations", ["bundles": [["bundle": "main", "unpublish": true]]], "dryrun"),
  ]

  /// A dry run of an act that has none must not execute the act.
  @Test func unknownMemberOfAnActIsRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    let (before, rows) = try (origin.api("GET", Self.online).text, origin.api("GET", "audit").text)
    for (path, body, member) in Self.acts {
      var members = try #require(body.object)
      members[member] = true
      let reply = try origin.api("POST", "\(Self.online)/\(path)", .object(members))
      let detail = reply.json["detail"]?.string ?? ""
      #expect(
        reply.status == 400 && detail.hasPrefix("\"\(member)\" is not a member"), "\(path): \(reply.text)")
    }
    for (path, body) in [("tokens", ["name": "x", "scope": "read"]), ("default-app", ["app": "shop"])]
      as [(String, [String: JSONValue])]
    {
      var members = JSONObject(body.map { .init(key: $0.key, value: $0.value) })
      members["dryRun"] = true
      #expect(try origin.api("POST", path, .object(members)).status == 400, "\(path)")
    }
    #expect(try origin.api("GET", Self.online).text == before)
    #expect(try origin.api("GET", "audit").text == rows)
  }

  /// The same holds for members of a bundle.
  @Test func unknownMemberOfABundleIsRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let misspelt: JSONValue = ["bundles": [["base": "1", "bundle": "main", "unpublished": true]]]
    let reply = try origin.api("POST", "\(Self.online)/releases", misspelt)
    #expect(reply.status == 400 && reply.text.contains("unpublished"), "\(reply.text)")
    #expect(try origin.api("GET", Self.online).json["version"]?.string == "1")
  }

  /// Additional members of a newer mirror are ignored.
  @Test func unknownMembersOfAMirrorAreIgnored() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let named: JSONValue = [["app": "shop", "channel": "online", "version": "1"]]
    #expect(
      try origin.api("POST", "mirrors", ["name": "m", "new": 1, "versions": named]).status == 200)
    let lease = try origin.api("POST", "leases", ["holder": "m", "new": 1, "seconds": 60])
    #expect(lease.status == 201, "\(lease.text)")
  }

  @Test func recreatedChannelContinuesItsNumbers() throws {
    let origin = try TestOrigin()
    let test = "apps/shop/channels/test"
    #expect(try origin.api("POST", "\(test)/create", [:]).status == 201)
    #expect(try origin.api("POST", "\(test)/create", [:]).json["code"]?.string == "channel-exists")
    let empty = try origin.ask("GET", "/xcache_test/shop/configure.json")
    #expect(empty.status == 200 && empty.json["data"]?["version"]?.string == "0")
    try origin.publish(["a.js": "a"], channel: "test")
    #expect(try origin.api("POST", "\(test)/remove", [:]).json["code"]?.string == "channel-holds")
    let gone: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]]]
    #expect(try origin.api("POST", "\(test)/releases", gone).status == 201)
    #expect(try origin.api("POST", "\(test)/remove", [:]).status == 200)
    #expect(try origin.ask("GET", "/xcache_test/shop/configure.json").status == 404)
    #expect(try origin.api("GET", "apps").json["channels"]?.array?.count == 0)
    #expect(try origin.publish(["a.js": "a"], channel: "test").json["code"]?.string == "channel-removed")
    #expect(try origin.api("POST", "\(test)/create", [:]).json["version"]?.string == "2")
    #expect(try origin.publish(["a.js": "a"], channel: "test").json["version"]?.string == "3")
    #expect(try origin.ask("GET", "/xcache_test/shop/configure.json").json["data"]?["version"]?.string == "3")
  }

  @Test func pollsWithoutAnAppUseTheDefault() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["b.js": "b"], app: "other")
    try origin.publish(["b.js": "c"], app: "other")
    func version(_ path: String = "/configure.json") throws -> String? {
      try origin.ask("GET", path).json["data"]?["version"]?.string
    }
    #expect(try version() == "1")
    #expect(try origin.api("GET", "apps").json["defaultApp"]?.string == "shop")
    let rows = try origin.store.auditHead().row
    let named = try origin.api("POST", "default-app", ["app": "other"])
    #expect(named.json.canonical == Array(#"{"changed":true,"defaultApp":"other","was":"shop"}"#.utf8))
    // At once, on every path without an app.
    #expect(try version() == "2")
    #expect(try version("/configure.json?version=1&patch=1") == "2")
    #expect(try version("/xcache-provider/xhr/client/configure.json") == "2")
    #expect(try version("/configure.json?app=shop") == "1")
    #expect(try origin.ask("GET", "/prefetchConfig").status == 200)
    let act = try #require(try origin.store.auditRows(after: rows, limit: 9).first)
    #expect(act.act == "app.default" && act.app == "other" && act.author == "admin")
    #expect(try origin.api("POST", "default-app", ["app": "other"]).json["changed"]?.bool == false)
    #expect(try origin.api("GET", Self.online).json["isDefaultApp"]?.bool == false)
    #expect(try origin.api("GET", "apps/other/channels/online").json["isDefaultApp"]?.bool == true)
    // It is stored.
    #expect(try origin.store.defaultApp()?.text == "other")
    for (app, status) in [("none", 404), ("Shop", 409), ("a b", 400), ("", 400)] {
      let reply = try origin.api("POST", "default-app", ["app": .string(app)])
      #expect(reply.status == status, "\(app): \(reply.text)")
    }
    #expect(try origin.api("POST", "default-app", [:]).status == 400)
    #expect(try version() == "2")
  }

  @Test func onlyAnUnrestrictedAdminSetsTheDefaultApp() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["b.js": "b"], app: "other")
    for (limits, isVisible) in [
      (["name": "p", "scope": "publish"], true), (["app": "other", "name": "o", "scope": "admin"], false),
      (["app": "shop", "name": "s", "scope": "admin"], true),
    ] as [(JSONValue, Bool)] {
      let token = try origin.api("POST", "tokens", limits).json["token"]?.string
      #expect(try origin.api("POST", "default-app", ["app": "other"], token: token).status == 403)
      let shown = try origin.api("GET", "apps", token: token).json["defaultApp"]?.string
      #expect(shown == (isVisible ? "shop" : nil))
    }
    #expect(try origin.ask("GET", "/configure.json?version=1").json["data"]?["version"]?.string == "1")
  }

  /// Devices without an app belong to the default app; no other one replaces it.
  @Test func defaultAppStaysWithoutAChannel() throws {
    let origin = try TestOrigin()
    #expect(try origin.api("POST", "\(Self.online)/create", [:]).status == 201)
    try origin.publish(["b.js": "b"], app: "other")
    let removed = try origin.api("POST", "\(Self.online)/remove", [:])
    #expect(removed.status == 200 && removed.json["leavesNoDefault"]?.bool == true, "\(removed.text)")
    #expect(try origin.ask("GET", "/configure.json").status == 404)
    // Polls would get no answer.
    #expect(try origin.api("POST", "default-app", ["app": "shop"]).status == 404)
    #expect(try origin.api("POST", "default-app", ["app": "other"]).status == 200)
    #expect(try origin.ask("GET", "/configure.json").status == 200)
    #expect(try origin.api("POST", "\(Self.online)/create", [:]).status == 201)
    #expect(
      try origin.api("POST", "\(Self.online)/remove", [:]).json["leavesNoDefault"]?.bool == false)
  }

  @Test func promotionRewritesURLsAndWarns() throws {
    let origin = try TestOrigin()
    try origin.publish(["old.js": "old", "keep.js": "k"])
    try origin.publish(["other.js": "o"], bundle: "other")
    let page = "<script src=\"https://m.example.com/a.js\"></script>"
    try origin.publish(
      ["a.js": "a", "index.html": page, "x/b.png": "https://m.example.com"], channel: "test")
    let map: JSONValue = [["from": "https://m.example.com", "to": "https://www.example.com"]]
    let body: JSONValue = ["from": "test", "map": map]
    let promoted = try origin.api("POST", "\(Self.online)/promote", body)
    #expect(promoted.status == 201, "\(promoted.text)")
    #expect(promoted.json["warnings"]?.array?.compactMap(\.string) == ["https://m.example.com/index.html"])
    #expect(promoted.json["from"]?.string == "test" && promoted.json["fromVersion"]?.string == "1")
    let held = try origin.api("GET", "\(Self.online)/manifest").json.object?.members.map(\.key)
    #expect(
      held == [
        "https://m.example.com/other.js", "https://www.example.com/a.js",
        "https://www.example.com/index.html",
        "https://www.example.com/x/b.png",
      ])
    #expect(try origin.api("POST", "\(Self.online)/promote", body).json["changed"]?.bool == false)
    let release = try origin.api("GET", "\(Self.online)/releases/3").json
    #expect(release["kind"]?.string == "promote" && release["source"]?["channel"]?.string == "test")
    #expect(try origin.api("POST", "\(Self.online)/promote", ["from": "online"]).status == 400)
    #expect(try origin.api("POST", "\(Self.online)/promote", ["from": "none"]).status == 404)
  }

  /// A URL, the rules `from to`, and the result.
  @Test(arguments: [
    ("https://a.com/x", "https://a.com https://b.com", "https://b.com/x"),
    ("https://a.com.evil/x", "https://a.com https://b.com", "https://a.com.evil/x"),
    ("https://a.com/app2/x", "https://a.com/app https://b.com", "https://a.com/app2/x"),
    (
      "https://a.com/app/x?q", "https://a.com https://b.com https://a.com/app https://c.com/y",
      "https://c.com/y/x?q"
    ),
    ("http://a.com/x", "https://a.com https://b.com", "http://a.com/x"),
  ])
  func rewriting(url: String, rules: String, result: String) throws {
    let sides = try rules.split(separator: " ").map { try BaseURL(String($0)) }
    let rewriting = URLRewriting(
      stride(from: 0, to: sides.count, by: 2).map { .init(from: sides[$0], to: sides[$0 + 1]) })
    #expect(try rewriting.apply(to: ResourceURL(url)).text == result)
  }

  @Test func searchFindsTextAcrossPieces() throws {
    let origin = try TestOrigin()
    let text = Array("m.example.com".utf8)
    for start in [0, 1, 262_140, 262_143, 262_144, 300_000, 524_280] {
      var bytes = [UInt8](repeating: UInt8(ascii: "m"), count: 600_000 + start % 7)
      bytes.replaceSubrange(start..<start + text.count, with: text)
      for (expected, bytes) in [(true, bytes), (false, bytes.map { $0 == UInt8(ascii: ".") ? 0x2d : $0 })] {
        let claim = BlobClaim(sha256: .of(bytes), md5: .of(bytes), size: Int64(bytes.count))
        _ = try origin.store.receive(bytes.span.bytes, claim)
        let url = "https://m.example.com/f\(start)\(expected).js"
        let content = ResourceContent(
          FileDigest(md5: claim.md5, sha256: claim.sha256, size: Int64(bytes.count)),
          ctype: ContentType.of(fileName: "a.js"))
        let set = JSONObject([.init(key: url, value: content.json)])
        let change: JSONValue = ["bundle": .string("b\(start)\(expected)"), "set": .object(set)]
        #expect(try origin.api("POST", "\(Self.online)/releases", ["bundles": [change]]).status == 201)
        let blob = try origin.store.open(claim.sha256)
        #expect(try TextSearch([text]).isFound(in: blob) == expected, "at \(start)")
      }
    }
  }
}
