import Compression
import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

@Suite struct DeltaTests {
  static let old = (0..<3000).map { "let a\($0) = \($0 &* 7919);\n" }.joined()
  static let new = "/* 2 */" + old.dropLast(30) + "let z = 1;\n"
  static let newURL = "https://m.example.com/js/app.9ZyXwVu1.js"

  /// An origin whose second version renamed its script and changed a small part of it.
  private static func published(_ change: (inout Origin.Options) -> Void = { _ in }) throws -> TestOrigin {
    let origin = try TestOrigin(change)
    try origin.publish(["js/app.0aBcDeF9.js": old, "index.html": "<title>shop</title>"])
    let reply = try origin.publish(["js/app.9ZyXwVu1.js": new], remove: ["js/app.0aBcDeF9.js"])
    #expect(reply.json["deltasStored"]?.bool == true)
    return origin
  }

  private static func offer(_ origin: TestOrigin) throws -> JSONValue? {
    try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1").json["data"]?["deltas"]?[newURL]
  }

  private static func path(_ url: String?) throws -> String {
    let url = try #require(url)
    return String(url.dropFirst("https://cdn.example.com".count))
  }

  @Test func patchOffersStoredDeltas() throws {
    let origin = try Self.published()
    let offer = try #require(try Self.offer(origin))
    let base = Array(Self.old.utf8)
    #expect(offer["base"]?.string == SHA256.of(base).hex)
    let path = try Self.path(offer["download"]?.string)
    #expect(
      path == "/hxm/xcache/delta/\(SHA256.of(Array(Self.new.utf8)).hex)/\(SHA256.of(base).hex).dcz")
    for path in [path, String(path.dropFirst(4))] {
      let reply = try origin.ask("GET", path, ["Accept-Encoding: gzip, zstd"])
      #expect(reply.status == 200 && reply.field("Content-Encoding") == nil)
      #expect(reply.field("Content-Type") == "application/octet-stream")
      #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
      #expect(Int64(reply.body.count) == offer["size"]?.integer)
      #expect(reply.body.count < 300)
      let decoded = try Dcz.decode(reply.body, base: base, baseSHA256: SHA256.of(base), limit: 1 << 20)
      let isSame = decoded == Array(Self.new.utf8)
      #expect(isSame)
    }
    let other = String(path.dropLast(5)) + (path.hasSuffix("0.dcz") ? "1.dcz" : "0.dcz")
    #expect(try origin.ask("GET", other).status == 404)
  }

  @Test func versionWithoutTheBaseGetsNoDelta() throws {
    let origin = try Self.published()
    try origin.publish(["js/app.9ZyXwVu1.js": Self.new + "3"])
    let answer = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1").json["data"]
    let offers = answer?["deltas"]?.object
    #expect(offers?.members.map(\.key) == [Self.newURL])
    #expect(offers?[Self.newURL]?["base"]?.string == SHA256.of(Array(Self.new.utf8)).hex)
    // From version 1, the delta on version 2's bytes is of no use, and no other exists yet.
    let older = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1").json["data"]
    for offer in older?["deltas"]?.object?.members ?? [] {
      #expect(offer.value["base"]?.string == SHA256.of(Array(Self.old.utf8)).hex)
    }
  }

  /// Devices on the version that is rolled back get the old bytes as a delta; a promotion works the same way.
  @Test func rollbackWaitsForItsDeltas() throws {
    let origin = try TestOrigin()
    let (url, name) = ("https://m.example.com/app.js", "app.js")
    let (old, new) = (Array(Self.old.utf8), Array(Self.new.utf8))
    func offer(_ base: String, _ space: String = "xcache") throws -> JSONValue? {
      let path = "/\(space)/shop/configure.json?version=\(base)&patch=1"
      return try origin.ask("GET", path).json["data"]?["deltas"]?[url]
    }
    try origin.publish([name: Self.old])
    try origin.publish([name: Self.new])
    let channel = "apps/shop/channels/online"
    let dry = try origin.api("POST", "\(channel)/rollback", ["allBundles": true, "dryRun": true, "to": "1"])
    #expect(dry.json["deltasStored"]?.bool == false)
    let done = try origin.api("POST", "\(channel)/rollback", ["allBundles": true, "to": "1"])
    #expect(done.status == 201 && done.json["deltasStored"]?.bool == true, "\(done.text)")
    #expect(try offer("2")?["base"]?.string == SHA256.of(new).hex)
    let path = try Self.path(offer("2")?["download"]?.string)
    let delta = try origin.ask("GET", path).body
    let isSame = try Dcz.decode(delta, base: new, baseSHA256: SHA256.of(new), limit: 1 << 20) == old
    #expect(isSame && delta.count < 300)

    try origin.publish([name: Self.new + "2"], channel: "test")
    let promoted = try origin.api("POST", "apps/shop/channels/test/promote", ["from": "online"])
    #expect(promoted.json["deltasStored"]?.bool == true, "\(promoted.text)")
    #expect(try offer("1", "xcache_test")?["base"]?.string == SHA256.of(Array((Self.new + "2").utf8)).hex)
    // With `now`, the answer is right, too, and has the id for asking for its cost.
    let now: JSONValue = ["allBundles": true, "now": true, "to": "2"]
    let immediate = try origin.api("POST", "\(channel)/rollback", now)
    #expect(immediate.status == 201)
    if let id = immediate.json["preparation"]?.string {
      let cost = Self.wait {
        let answer = try? origin.api("POST", "\(channel)/preparations", ["id": .string(id)]).json
        return answer?["cost"]?["last1"]?["total"]?.integer != nil
      }
      #expect(cost)
    } else {
      // By then it was known.
      #expect(immediate.json["cost"]?["update"]?.object != nil, "\(immediate.text)")
    }
    let withoutWait = try TestOrigin { $0.deltaWait = 0 }
    try withoutWait.publish([name: Self.old])
    try withoutWait.publish([name: Self.new])
    let late = try withoutWait.api("POST", "\(channel)/rollback", ["allBundles": true, "to": "1"])
    #expect(late.status == 201 && late.json["deltasStored"]?.bool == false)
  }

  /// Whether deltas are stored is true at the commit, whether or not the release waited for them.
  @Test func releaseWithoutAWaitTellsWhetherDeltasAreStored() throws {
    let origin = try TestOrigin()
    func release(_ files: [String: String], remove: [String] = []) throws -> JSONValue {
      var release = try origin.release(files, remove: remove).object ?? JSONObject()
      release["now"] = true
      return .object(release)
    }
    func stored(_ release: JSONValue) throws -> Bool? {
      let reply = try origin.api("POST", "apps/shop/channels/online/releases", release)
      #expect(reply.status == 201, "\(reply.text)")
      return reply.json["deltasStored"]?.bool
    }
    // There was no base for any.
    #expect(try stored(release(["a.js": Self.old, "b.js": "1"])) == true)
    let second = try release(["a.js": Self.new])
    _ = try PackCostTests.prepare(origin, second)
    #expect(try stored(second) == true)
    // Nothing began to make them.
    #expect(try stored(release(["a.js": Self.old + "3"])) == false)
    #expect(try stored(release([:], remove: ["b.js"])) == true)
  }

  @Test func dictionaryIsNegotiated() throws {
    let origin = try Self.published()
    let map = try origin.ask("GET", "/configure.json?app=shop").json["data"]?["resourcemap"]
    let path = try Self.path(map?[Self.newURL]?["download"]?.string)
    let base = Array(Self.old.utf8)
    let field = "Available-Dictionary: :\(Self.base64(SHA256.of(base).bytes)):"
    // The first answer opens the file; the second one uses the open file.
    for _ in 0..<2 {
      let reply = try origin.ask("GET", path, ["Accept-Encoding: gzip, br, zstd, dcb, dcz", field])
      #expect(reply.status == 200 && reply.field("Content-Encoding") == "dcz")
      #expect(reply.field("Vary") == "Accept-Encoding, Available-Dictionary")
      let decoded = try Dcz.decode(reply.body, base: base, baseSHA256: SHA256.of(base), limit: 1 << 20)
      let isSame = decoded == Array(Self.new.utf8)
      #expect(isSame)
      let md5 = MD5.of(Array(Self.new.utf8)).hex
      #expect(reply.field("ETag") == "\"\(md5)-dcz-\(SHA256.of(reply.body).hex.prefix(16))\"")
      let again = try origin.ask(
        "GET", path, ["Accept-Encoding: dcz", field, "If-None-Match: \(reply.field("ETag") ?? "")"])
      #expect(again.status == 304)
    }
    let refused = [
      ["Accept-Encoding: gzip", field], ["Accept-Encoding: gzip, dcz"],
      ["Accept-Encoding: gzip, dcz;q=0", field], ["Accept-Encoding: gzip, dcz;q=0.9", field],
      ["Accept-Encoding: gzip;q=0.5, zstd;q=0.1, dcz;q=0.3", field],
      ["Accept-Encoding: *;q=0.1, gzip", field],
      ["Accept-Encoding: gzip, dcz", "Available-Dictionary: :\(Self.base64(SHA256.of([1]).bytes)):"],
      ["Accept-Encoding: gzip, dcz", "Available-Dictionary: nonsense"],
    ]
    let taken = [
      "gzip;q=0.9, dcz", "gzip;q=0.5, dcz;q=0.5", "dcz;q=0.1", "*", "gzip;q=0.1, *;q=0.2", "identity, dcz",
    ]
    for accepted in taken {
      let reply = try origin.ask("GET", path, ["Accept-Encoding: \(accepted)", field])
      #expect(reply.field("Content-Encoding") == "dcz", "\(accepted)")
    }
    #expect(
      try origin.ask("GET", path, ["Accept-Encoding: identity, dcz;q=0.9", field]).body
        == Array(Self.new.utf8))
    for lines in refused {
      #expect(try origin.ask("GET", path, lines).field("Content-Encoding") == "gzip", "\(lines)")
    }
  }

  @Test func useAsDictionaryMatchesTheNextVersions() throws {
    let origin = try TestOrigin(publicURL: "https://cdn.example.com/h(x)m")
    try origin.publish([
      "js/app.0aBcDeF9.js": Self.old, "js/index.BBnWuh07.js": "1", "js/index.CD8HuT3N.js": "2",
      "js/plain.js": "3",
      "img/a.png": "4",
    ])
    let map = try origin.ask("GET", "/configure.json?app=shop").json["data"]?["resourcemap"]
    func field(_ name: String) throws -> String? {
      let download = map?["https://m.example.com/\(name)"]?["download"]?.string
      return try origin.ask("GET", try Self.path(download)).field("Use-As-Dictionary")
    }
    let start = #"match="/h\\(x\\)m/xcache/1/*/*/*/https%253A%252F%252Fm.example.com%252Fjs%252F"#
    #expect(try field("js/app.0aBcDeF9.js") == start + #"app.*.js""#)
    #expect(try field("js/plain.js") == start + #"plain.js""#)
    // Two live resources would share it.
    #expect(try field("js/index.BBnWuh07.js") == nil)
    #expect(try field("img/a.png") == nil)
  }

  @Test func derivedFilesCanBeDeleted() throws {
    let origin = try Self.published()
    for name in try Folder.textNames("\(origin.folder)/derived") {
      for file in try Folder.textNames("\(origin.folder)/derived/\(name)") where file.hasSuffix(".dcz") {
        try Kernel.remove("\(origin.folder)/derived/\(name)/\(file)")
      }
    }
    // A new origin with the same store, as after a restart.
    let again = try Origin(
      store: origin.store, options: Origin.Options(publicURL: BaseURL("https://c.example.com")))
    try again.startBackgroundWork()
    defer { again.beginStopping() }
    let channel = try #require(again.catalog.current.channels.first?.channel)
    let isRemade = Self.wait {
      let changes = (try? origin.store.changes(channel, from: ManifestVersion(1), to: channel.version)) ?? []
      return (try? DeltaOffers(store: origin.store).offers(changes, channel, from: ManifestVersion(1)).count)
        == 1
    }
    #expect(isRemade)
  }

  @Test func deltasFollowWithoutAWait() throws {
    let origin = try TestOrigin { $0.deltaWait = 0 }
    try origin.publish(["js/app.0aBcDeF9.js": Self.old])
    let reply = try origin.publish(["js/app.9ZyXwVu1.js": Self.new], remove: ["js/app.0aBcDeF9.js"])
    #expect(reply.json["deltasStored"]?.bool == false)
    #expect(try Self.offer(origin) == nil)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(Self.wait { (try? Self.offer(origin)) != .some(nil) })
    let state = try origin.api("GET", "apps/shop/channels/online").json["deltas"]
    #expect(state?["version"]?.string == "2")
  }

  @Test func costsAreKnownBeforeTheRelease() throws {
    let origin = try Self.published()
    let bytes = Array((Self.new + "// 3").utf8)
    let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
    let content = ResourceContent(digest, ctype: ContentType.of(fileName: "a.js"))
    let change: JSONValue = [
      "base": "2", "bundle": "main", "remove": [],
      "set": .object(JSONObject([.init(key: Self.newURL, value: content.json)])),
    ]
    let place = "apps/shop/channels/online/preparations"
    var state = try origin.api("POST", place, ["bundles": [change]]).json
    let id = state["id"]?.string ?? ""
    let isDone = Self.wait {
      state = (try? origin.api("POST", place, ["id": .string(id)]).json) ?? .null
      return state["done"]?.bool == true
    }
    #expect(isDone)
    #expect(try origin.ask("GET", "/configure.json?app=shop").json["data"]?["version"]?.string == "2")
    _ = try origin.api("POST", "apps/shop/channels/online/releases", ["bundles": [change]])
    let offer = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1").json["data"]?["deltas"]?[
      Self.newURL]
    #expect(offer?["size"]?.integer != nil)
    #expect(state["cost"]?["last1"]?["bytes"]?.integer == offer?["size"]?.integer)
    #expect(state["cost"]?["last2"]?["files"]?.integer == 1)
    #expect(
      (state["cost"]?["new"]?["bytes"]?.integer ?? 0) > (state["cost"]?["last1"]?["bytes"]?.integer ?? 0))
    let diff = try origin.api("GET", "apps/shop/channels/online/diff?from=2&to=3").json
    #expect(diff["changed"]?.array?.first?["delta"]?.integer == offer?["size"]?.integer)
    #expect(diff["cost"]?["bytes"]?.integer == offer?["size"]?.integer)
  }

  /// Deltas are made while a release is only planned: no row names their targets yet, but gc must keep them.
  @Test func gcKeepsDeltasOfPlannedReleases() throws {
    let origin = try Self.published()
    let bytes = Array((Self.new + "// 3").utf8)
    let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
    let content = ResourceContent(digest, ctype: ContentType.of(fileName: "a.js"))
    let change: JSONValue = [
      "base": "2", "bundle": "main",
      "set": .object(JSONObject([.init(key: Self.newURL, value: content.json)])),
    ]
    let release = "apps/shop/channels/online/releases"
    let place = "apps/shop/channels/online/preparations"
    let id = try origin.api("POST", place, ["bundles": [change]]).json["id"]?.string ?? ""
    #expect(
      Self.wait { (try? origin.api("POST", place, ["id": .string(id)]).json["done"]?.bool) == true })
    let made = try origin.store.derived.pairs(of: digest.sha256)
    #expect(made.contains { $0.size != nil })
    let dry = try origin.store.collect(dryRun: true)
    let report = try origin.store.collect()
    #expect(report.derived.count == 0 && dry.derived.count == 0)
    #expect(try origin.store.derived.pairs(of: digest.sha256) == made)
    #expect(try origin.api("POST", release, ["bundles": [change]]).status == 201)
    let offers = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1").json["data"]?["deltas"]
    #expect(offers?[Self.newURL]?["size"]?.integer == made.compactMap(\.size).first)
  }

  static func wait(_ condition: () -> Bool) -> Bool {
    for _ in 0..<1000 {
      if condition() { return true }
      Clock.sleep(for: .milliseconds(20))
    }
    return false
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let word = group.enumerated().reduce(0) { $0 | Int($1.element) << (16 - 8 * $1.offset) }
      for index in 0..<4 { text.append(index <= group.count ? digits[word >> (18 - 6 * index) & 63] : "=") }
    }
    return text
  }
}
