import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// The API of releases and preparations, and of reading them, byte for byte.
@Suite struct ReleaseWireTests {
  private static let online = "apps/shop/channels/online"
  private static let test = "apps/shop/channels/test"

  /// The member of a release's `set` for a file with this text, whose bytes are uploaded.
  private static func file(_ text: String, _ path: String, _ origin: TestOrigin, stored: Bool = true) throws
    -> JSONObject.Member
  {
    let bytes = Array(text.utf8)
    let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
    if stored {
      let claim = BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size)
      _ = try origin.store.receive(bytes.span.bytes, claim)
    }
    let content = ResourceContent(digest, ctype: ContentType.of(fileName: path))
    return .init(key: "https://m.example.com/\(path)", value: content.json)
  }

  private static func change(
    _ golden: WireGolden, _ bundle: String, base: String? = "0", _ files: [(String, String)],
    remove: [String] = [], stored: Bool = true
  ) throws -> JSONValue {
    var change = JSONObject()
    change["base"] = base.map { .string($0) }
    change["bundle"] = .string(bundle)
    change["remove"] = .strings(remove.map { "https://m.example.com/\($0)" })
    change["set"] = .object(
      JSONObject(try files.map { try file($0.1, $0.0, golden.origin, stored: stored) }))
    return .object(change)
  }

  private static func config(_ name: String) -> JSONValue {
    [
      [
        "interfaces": [["api": .string("https://m.example.com/\(name)"), "method": "GET"]],
        "url": "https://m.example.com/p",
      ]
    ]
  }

  @Test func releases() throws {
    let golden = try WireGolden()
    let releases = "\(Self.online)/releases"
    try golden.ask("GET", Self.online)
    try golden.ask("GET", "apps")
    let first = try Self.change(golden, "main", [("a.js", "one"), ("b.css", "b")])
    try golden.ask("POST", releases, ["bundles": [first], "dryRun": true])
    try golden.ask("POST", releases, ["bundles": [first], "message": "first"])
    try golden.ask("POST", releases, ["bundles": [first], "message": "again"])
    let second = try Self.change(golden, "main", base: "1", [("a.js", "two")], remove: ["b.css"])
    try golden.ask("POST", releases, ["bundles": [second], "ifVersion": "1", "message": "second\nline"])
    try golden.ask("POST", releases, ["bundles": [second], "ifVersion": "1"])
    // It replaces changes that its publisher hadn't seen.
    let blind = try Self.change(golden, "main", base: "1", [("c.js", "three")])
    try golden.ask("POST", releases, ["bundles": [blind], "now": true])
    let lacking = try Self.change(golden, "main", base: "3", [("d.js", "not here")], stored: false)
    try golden.ask("POST", releases, ["bundles": [lacking], "dryRun": true])
    try golden.ask("POST", releases, ["bundles": [lacking]])
    let help = try Self.change(golden, "help", [("a.js", "other"), ("h.js", "h")])
    try golden.ask("POST", releases, ["bundles": [help]])
    let twice = try Self.change(golden, "help", [("d", "x"), ("d?xcache=0", "y")])
    try golden.ask("POST", releases, ["bundles": [twice]])
    let more = try Self.change(golden, "help", [("h.js", "h")])
    try golden.ask("POST", releases, ["bundles": [more, ["bundle": "main", "unpublish": true]]])
    try golden.ask("POST", releases, ["bundles": [["bundle": "none", "unpublish": true]]])
    let far = try Self.change(golden, "help", base: "9", [])
    for body: JSONValue in [
      [:], ["bundles": []], ["bundles": [far]], ["bundles": [more, more]], ["bundles": [["bundle": "a b"]]],
      ["bundles": [more], "ifVersion": "yesterday"], ["bundles": [more], "breakGlass": ""],
      ["bundles": [more], "message": "\u{1B}"],
    ] { try golden.ask("POST", releases, body) }
    let unknown = try Self.change(golden, "main", [("a.js", "one")])
    let token = try golden.origin.api("POST", "tokens", ["name": "ci", "scope": "publish"])
    let ci = token.json["token"]?.string
    try golden.ask("POST", "apps/other/channels/online/releases", ["bundles": [unknown]], token: ci)
    try golden.ask("POST", "\(Self.test)/releases", ["bundles": [unknown]], token: ci)
    let reader = try golden.origin.api(
      "POST", "tokens", ["app": "shop", "bundles": "help*", "name": "help", "scope": "publish"])
    try golden.ask("POST", releases, ["bundles": [unknown]], token: reader.json["token"]?.string)
    try golden.ask("POST", "apps/other/channels/online/releases", [:], token: reader.json["token"]?.string)
    try golden.check("releases")
  }

  @Test func preparations() throws {
    let golden = try WireGolden()
    let preparations = "\(Self.online)/preparations"
    let text = String(repeating: "a line of the file\n", count: 400)
    let first = try Self.change(golden, "main", [("a.js", text)])
    #expect(try golden.origin.api("POST", "\(Self.online)/releases", ["bundles": [first]]).status == 201)
    let next = try Self.change(golden, "main", base: "1", [("a.js", text + "and one more"), ("b.js", "b")])
    let begun = try golden.origin.api("POST", preparations, ["bundles": [next]])
    let id: JSONValue = ["id": .string(try #require(begun.json["id"]?.string))]
    func isDone() throws -> Bool {
      try golden.origin.api("POST", preparations, id).json["done"]?.bool == true
    }
    for _ in 0..<2000 where try !isDone() { Clock.sleep(for: .milliseconds(5)) }
    try golden.ask("POST", preparations, id)
    try golden.ask("POST", preparations, ["bundles": [next]])
    try golden.ask("POST", preparations, ["id": "none"])
    try golden.ask("POST", preparations, [:])
    try golden.ask("GET", "\(Self.online)/diff?from=0&to=1")
    try golden.check("preparations")
  }

  @Test func reading() throws {
    let golden = try WireGolden()
    let origin = golden.origin
    for path in ["", "/log", "/diff?from=1&to=2", "/manifest", "/releases/1", "/bundles/main/entries"] {
      try golden.ask("GET", Self.online + path)
    }
    try golden.ask("POST", "\(Self.online)/create", [:])
    for path in ["", "/log", "/diff?from=0&to=0", "/manifest", "/releases/1", "/bundles/main/entries"] {
      try golden.ask("GET", Self.online + path)
    }
    try origin.publish(["a.js": "one", "b.css": "b"])
    try origin.publish(["h.js": "h"], bundle: "help")
    try origin.publish(["a.js": "two", "c.svg": "<svg/>"], remove: ["b.css"])
    #expect(try origin.api("POST", "\(Self.online)/prefetch", ["document": Self.config("one")]).status == 201)
    let kill: JSONValue = ["act": "kill", "message": "white screen"]
    #expect(try origin.api("POST", "\(Self.online)/policy", kill).status == 201)
    #expect(try origin.api("POST", "\(Self.online)/settings", ["interval": 300]).status == 200)
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "the sale"]).status == 200)
    let breakGlass: JSONValue = ["breakGlass": "it burns", "bundle": "main", "steps": 1]
    #expect(try origin.api("POST", "\(Self.online)/rollback", breakGlass).status == 201)
    for path in [
      "", "/log", "/log?limit=1", "/log?before=3", "/log?at=2025-11-19T00:00:00Z", "/log?limit=0",
      "/log?before=x", "/diff?from=1&to=3", "/diff?from=3&to=1", "/diff?from=3&to=3", "/diff?from=1",
      "/diff?from=1&to=99", "/diff?from=x&to=1", "/manifest", "/manifest?version=1", "/manifest?version=99",
      "/manifest?version=2999-01-01T00:00:00Z", "/releases/1", "/releases/4", "/releases/99", "/releases/x",
      "/bundles/main/entries", "/bundles/main/entries?since=1", "/bundles/main/entries?since=3",
      "/bundles/main/entries?since=2", "/bundles/none/entries", "/bundles/a%20b/entries",
      "/bundles/main/entries?since=x",
    ] { try golden.ask("GET", Self.online + path) }
    try golden.ask("GET", "apps")
    try golden.ask("GET", "apps/a%20b/channels/online")
    try golden.ask("GET", "apps/shop/channels/ONLINE")
    try golden.ask("GET", "apps/shop/channels/none")
    try golden.ask("GET", Self.online, token: "none")
    try golden.check("reading")
  }

  @Test func rollbacks() throws {
    let golden = try WireGolden()
    let origin = golden.origin
    let rollback = "\(Self.online)/rollback"
    try origin.publish(["a.js": "one", "b.css": "b"])
    #expect(try origin.api("POST", "\(Self.online)/prefetch", ["document": Self.config("one")]).status == 201)
    try origin.publish(["h.js": "h"], bundle: "help")
    try origin.publish(["a.js": "two"], remove: ["b.css"])
    #expect(try origin.api("POST", "\(Self.online)/prefetch", ["document": Self.config("two")]).status == 201)
    for body: JSONValue in [
      ["bundle": "main", "dryRun": true, "steps": 1],
      ["allBundles": true, "dryRun": true, "to": "1", "withPrefetch": true],
      ["bundle": "main", "message": "white screen", "steps": 1, "withPrefetch": true],
      ["bundle": "main", "to": "1", "withPrefetch": true], ["bundle": "main", "ifVersion": "3", "to": "3"],
      ["allBundles": true, "now": true, "to": "3"], ["allBundles": true, "to": "2000-01-01T00:00:00Z"],
      ["allBundles": true, "steps": 99], ["bundle": "none", "steps": 1], ["bundle": "main", "to": "99"],
      ["steps": 1], ["allBundles": true, "bundle": "main", "steps": 1], ["allBundles": true],
      ["allBundles": true, "steps": 1, "to": "1"], ["allBundles": true, "steps": 0],
      ["allBundles": true, "to": "yesterday"], ["bundle": "a b", "steps": 1],
      ["bundle": "main", "breakGlass": "", "steps": 1],
    ] {
      if body["now"] != nil {
        // Otherwise it isn't certain what is known when the answer is made.
        _ = try origin.api("POST", rollback, ["allBundles": true, "dryRun": true, "to": "3"])
      }
      try golden.ask("POST", rollback, body)
    }
    let limited: JSONValue = ["app": "shop", "bundles": "help*", "name": "help", "scope": "publish"]
    let token = try origin.api("POST", "tokens", limited).json["token"]?.string
    try golden.ask("POST", rollback, ["bundle": "main", "steps": 1], token: token)
    try golden.ask("POST", rollback, ["bundle": "help", "steps": 1, "withPrefetch": true], token: token)
    try golden.check("rollbacks")
  }

  @Test func promotions() throws {
    let golden = try WireGolden()
    let origin = golden.origin
    let promote = "\(Self.online)/promote"
    try origin.publish(["a.js": "old"])
    try origin.publish(["o.js": "o"], bundle: "other")
    let page = "<script src=\"https://m.example.com/a.js\"></script>"
    try origin.publish(["a.js": "a", "index.html": page], channel: "test")
    try origin.publish(["o.js": "o"], bundle: "other", channel: "test")
    let gone: JSONValue = ["bundles": [["bundle": "other", "unpublish": true]]]
    #expect(try origin.api("POST", "\(Self.test)/releases", gone).status == 201)
    let map: JSONValue = [["from": "https://m.example.com", "to": "https://www.example.com"]]
    try golden.ask("POST", promote, ["dryRun": true, "from": "test", "map": map, "withPrefetch": true])
    #expect(try origin.api("POST", "\(Self.test)/prefetch", ["document": Self.config("one")]).status == 201)
    for body: JSONValue in [
      ["from": "test", "map": map, "message": "to all", "withPrefetch": true],
      ["from": "test", "map": map, "withPrefetch": true], ["bundle": "main", "from": "test", "now": true],
      ["from": "test", "version": "1"], ["from": "test", "version": "99"],
      ["from": "test", "ifVersion": "1"],
      ["bundle": "other", "from": "test"], ["bundle": "none", "from": "test"], [:], ["from": "online"],
      ["from": "none"], ["from": "A B"], ["from": "test", "map": [["from": "x"]]],
      ["from": "test", "map": [["from": "x", "to": "https://a"]]], ["from": "test", "bundle": "a b"],
      ["breakGlass": "", "from": "test"],
    ] { try golden.ask("POST", promote, body) }
    try golden.ask("POST", "apps/shop/channels/new/promote", ["dryRun": true, "from": "test"])
    try golden.ask("POST", "apps/shop/channels/new/promote", ["from": "test"])
    let limited: JSONValue = ["app": "shop", "channel": "online", "name": "o", "scope": "publish"]
    let token = try origin.api("POST", "tokens", limited).json["token"]?.string
    try golden.ask("POST", promote, ["from": "test"], token: token)
    try golden.ask("GET", "\(Self.online)/log?limit=2")
    try golden.check("promotions")
  }

  @Test func channels() throws {
    let golden = try WireGolden()
    let (origin, online, test) = (golden.origin, Self.online, Self.test)
    try golden.ask("GET", "apps")
    try golden.ask("POST", "\(online)/create", [:])
    try golden.ask("POST", "\(online)/create", [:])
    try golden.ask("POST", "\(test)/create", ["publicURL": "https://test.example.com/x"])
    try golden.ask("POST", "apps/shop/channels/bad/create", ["publicURL": "no URL"])
    try golden.ask("POST", "apps/Shop/channels/test/create", [:])
    try golden.ask("POST", "\(online)/freeze", [:])
    try golden.ask("POST", "\(online)/freeze", ["reason": "the sale"])
    try golden.ask("POST", "\(online)/freeze", ["reason": "the bigger sale"])
    try origin.publish(["a.js": "a"], channel: "test")
    let gone: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]]]
    try golden.ask("POST", "\(online)/releases", gone)
    try golden.ask("POST", "\(online)/promote", ["from": "test"])
    try golden.ask("GET", "apps")
    try golden.ask("POST", "\(online)/thaw", [:])
    try golden.ask("POST", "\(online)/thaw", [:])
    try golden.ask("POST", "\(test)/remove", [:])
    #expect(try origin.api("POST", "\(test)/releases", gone).status == 201)
    try golden.ask("POST", "\(test)/remove", [:])
    try golden.ask("POST", "\(test)/remove", [:])
    try golden.ask("POST", "\(test)/releases", gone)
    try golden.ask("POST", "\(test)/create", [:])
    try origin.publish(["a.js": "a"], app: "other")
    try golden.ask("POST", "default-app", ["app": "other"])
    try golden.ask("POST", "default-app", ["app": "other"])
    try golden.ask("POST", "default-app", ["app": "none"])
    try golden.ask("POST", "default-app", ["app": "a b"])
    try golden.ask("POST", "default-app", [:])
    try golden.ask("POST", "default-app", ["app": "shop"])
    try golden.ask("POST", "\(test)/remove", [:])
    try golden.ask("POST", "\(online)/remove", [:])
    try golden.ask("GET", "apps")
    let token = try origin.api("POST", "tokens", ["app": "other", "name": "o", "scope": "read"])
    try golden.ask("GET", "apps", token: token.json["token"]?.string)
    try golden.ask("POST", "\(online)/freeze", ["reason": "no"], token: token.json["token"]?.string)
    try golden.ask("POST", "default-app", ["app": "other"], token: token.json["token"]?.string)
    try golden.check("channels")
  }

  @Test func blobs() throws {
    let golden = try WireGolden()
    let (here, other) = (Array("here".utf8), Array("other".utf8))
    let sha256 = SHA256.of(here).hex
    let md5 = "Content-MD5: \(Base64.encode(MD5.of(here).bytes))"
    try golden.ask("POST", "blobs/missing", ["sha256": [.string(sha256), .string(SHA256.of(other).hex)]])
    try golden.send("PUT", "blobs/\(sha256)", [md5], body: here, as: "its bytes")
    try golden.send("PUT", "blobs/\(sha256)", [md5], body: here, as: "its bytes again")
    try golden.send("PUT", "blobs/\(sha256)", [md5], body: other, as: "other bytes")
    try golden.send("PUT", "blobs/\(sha256)", body: here, as: "without Content-MD5")
    try golden.send("PUT", "blobs/\(sha256)", ["Content-MD5: x"], body: here, as: "Content-MD5: x")
    try golden.send("PUT", "blobs/x", [md5], body: here, as: "its bytes")
    try golden.ask("POST", "blobs/missing", ["sha256": [.string(sha256), .string(SHA256.of(other).hex)]])
    let pack = Array("\(SHA256.of(other)) \(MD5.of(other)) \(other.count)\n".utf8) + other
    let type = "Content-Type: application/vnd.xcache.pack"
    try golden.send("POST", "blobs", [type], body: pack, as: "a pack of one file")
    try golden.send("POST", "blobs", [type], body: pack.dropLast(), as: "a pack that ends early")
    try golden.send("POST", "blobs", [type], body: [10], as: "a pack without a head")
    try golden.send("POST", "blobs", body: pack, as: "a pack without its type")
    for body: JSONValue in [[:], ["sha256": "x"], ["sha256": ["x"]], ["sha256": []]] {
      try golden.ask("POST", "blobs/missing", body)
    }
    try golden.check("blobs")
  }
}
