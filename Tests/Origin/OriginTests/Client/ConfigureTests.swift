import HTTP
import System
import Testing
import TestSupport
import Values

@testable import Origin

@Suite struct ConfigureTests {
  private static let path = "/configure.json?app=shop"

  @Test func originWithoutApps() throws {
    let origin = try TestOrigin()
    let reply = try origin.ask("GET", "/configure.json")
    #expect(reply.status == 404)
    #expect(reply.text == "{\"code\":404,\"message\":\"no app exists yet; publish one\"}")
  }

  /// A poll, and the answer with versions 1 and 2: kind, version, base.
  static let polls: [(String, String)] = [
    ("/configure.json", "whole 2"),
    ("/configure.json?app=shop", "whole 2"),
    ("/configure.json?app=shop&channel=online", "whole 2"),
    ("/configure.json?channel=online&version=1&patch=1", "patch 1→2"),
    ("/configure.json?app=shop&version=", "whole 2"),
    ("/configure.json?app=shop&version=0", "whole 2"),
    ("/configure.json?app=shop&version=1", "whole 2"),
    ("/configure.json?app=shop&version=1&patch=1", "patch 1→2"),
    ("/configure.json?app=shop&version=1&patch=0", "whole 2"),
    ("/configure.json?app=shop&version=2&patch=1", "nothing 2"),
    ("/configure.json?app=shop&version=2", "nothing 2"),
    ("/configure.json?app=shop&version=3&patch=1", "whole 2"),
    ("/configure.json?app=shop&version=99999999999999999999&patch=1", "whole 2"),
    ("/configure.json?app=shop&version=two&patch=1", "whole 2"),
    ("/configure.json?app=shop&version=-1&patch=1", "whole 2"),
    ("/configure.json?app=shop&version=2&digest=00", "whole 2"),
    ("/configure.json?app=shop&version=1&patch=1&digest=00", "whole 2"),
    ("/configure.json?app=shop&version=1&patch=1&bucket=17&appVersion=3.2.1&x=%41", "patch 1→2"),
    ("/configure.json?app=%73hop&version=%31&patch=1", "patch 1→2"),
    // The newest version is skipped; then another one, or none.
    ("/configure.json?app=shop&version=1&patch=1&skip=2", "nothing 2"),
    ("/configure.json?app=shop&version=1&patch=1&pack=1&digest=00&skip=%32", "nothing 2"),
    ("/configure.json?app=shop&version=1&skip=2", "nothing 2"),
    ("/configure.json?app=shop&skip=2", "nothing 2"),
    ("/xcache/shop/configure.json?version=1&patch=1&skip=2", "nothing 2"),
    ("/configure.json?app=shop&version=1&patch=1&skip=1", "patch 1→2"),
    ("/configure.json?app=shop&version=1&patch=1&skip=3", "patch 1→2"),
    ("/configure.json?app=shop&version=1&patch=1&skip=", "patch 1→2"),
    ("/configure.json?app=shop&version=1&patch=1&skip=two", "patch 1→2"),
    ("/configure.json?app=shop&version=1&patch=1&skip=99999999999999999999", "patch 1→2"),
    ("/configure.json?app=shop&version=1&patch=1&skip=1&skip=2", "patch 1→2"),
    ("/xcache/shop/configure.json?version=1&patch=1", "patch 1→2"),
    ("/xcache/shop/configure.json", "whole 2"),
    ("/hxm/xcache/shop/configure.json?version=2", "nothing 2"),
    ("/xcache-provider/xhr/client/configure.json?app=shop&version=1", "whole 2"),
    ("/xcache-provider/xhr/client/configure.json?version=2", "nothing 2"),
    ("/configure.json?app=Shop", "404 no app named \"Shop\""),
    ("/configure.json?app=sho", "404 no app named \"sho\""),
    ("/configure.json?app=", "404 no app named \"\""),
    ("/configure.json?app=shop&channel=test", "404 no app named \"shop\" with a channel named \"test\""),
    ("/xcache_test/shop/configure.json", "404 no app named \"shop\" with a channel named \"xcache_test\""),
    (
      "/xcache_online/shop/configure.json", "404 no app named \"shop\" with a channel named \"xcache_online\""
    ),
    ("/xcache/shop/other.json", "404 not found"),
    ("/xcache/shop/configure.json/", "404 not found"),
    ("/other/xcache/shop/configure.json", "404 not found"),
    ("/xcache", "404 not found"),
  ]

  @Test func answersToPolls() throws {
    let origin = try TestOrigin()
    let files = Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0).js", "file \($0)") })
    try origin.publish(files)
    try origin.publish(["a.js": "two"], remove: ["7.js"])
    for (target, expected) in Self.polls {
      #expect(Self.describe(try origin.ask("GET", target)) == expected, "\(target)")
      // The second time, the answer comes from the cache.
      #expect(Self.describe(try origin.ask("GET", target)) == expected, "\(target), again")
    }
  }

  private static func describe(_ reply: TestOrigin.Reply) -> String {
    let document = reply.json
    guard document["code"]?.integer == Int64(reply.status) else {
      return "status \(reply.status), code differs"
    }
    if reply.status != 200 { return "\(reply.status) \(document["message"]?.string ?? "")" }
    let data = document["data"]
    let version = data?["version"]?.string ?? "?"
    if data?["update"]?.bool == false { return "nothing \(version)" }
    if data?["patch"] != nil { return "patch \(data?["base"]?.string ?? "?")→\(version)" }
    return "whole \(version)" + (data?["base"]?.string.map { " at \($0)" } ?? "")
  }

  @Test func digestsOfTheNewestVersionAndTheBase() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one", "b.js": String(repeating: "b", count: 99)])
    let first = try origin.ask("GET", Self.path).json["data"]?["digest"]?.string ?? ""
    try origin.publish(["c.js": "three"])
    let second = try origin.ask("GET", Self.path).json["data"]?["digest"]?.string ?? ""
    #expect(first != second && first.count == 64)
    #expect(Self.describe(try origin.ask("GET", "\(Self.path)&version=2&digest=\(second)")) == "nothing 2")
    #expect(Self.describe(try origin.ask("GET", "\(Self.path)&version=2&digest=\(first)")) == "whole 2")
    let patch = try origin.ask("GET", "\(Self.path)&version=1&patch=1&digest=\(first)")
    #expect(patch.json["data"]?["base"]?.string == "1")
    #expect(
      Self.describe(try origin.ask("GET", "\(Self.path)&version=1&patch=1&digest=\(second)")) == "whole 2")
  }

  /// Every answer to a version leads to the same map, with the digest that it names.
  @Test(arguments: 1...6) func patchesLeadToTheWholeMap(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed))
    let origin = try TestOrigin()
    var maps: [String: JSONValue] = [:]
    for _ in 0..<6 {
      var files: [String: String] = [:]
      for _ in 0..<Int.random(in: 1...30, using: &random) {
        files["\(Int.random(in: 0..<40, using: &random)).js"] = "\(random.next() % 3)"
      }
      try origin.publish(files, bundle: "b")
      let whole = try origin.ask("GET", Self.path).json["data"]
      let map = whole?["resourcemap"] ?? .null
      #expect(whole?["digest"]?.string == SHA256.of(map.canonical).hex)
      let newest = whole?["version"]?.string ?? ""
      maps[newest] = map
      for (version, base) in maps where version != newest {
        let reply = try origin.ask("GET", "\(Self.path)&version=\(version)&patch=1").json["data"]
        #expect(reply?["base"]?.string == version)
        let result = reply?["patch"].map { MergePatch.apply($0, to: base) } ?? reply?["resourcemap"]
        let isRight = result?.canonical == map.canonical
        #expect(isRight, "\(version) → \(newest)")
      }
    }
  }

  @Test func headers() throws {
    let origin = try TestOrigin()
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<30).map { ("\($0).js", "\($0)") }))
    let plain = try origin.ask("GET", Self.path)
    #expect(plain.field("Vary") == "Accept-Encoding")
    #expect(plain.field("Cache-Control") == "no-cache")
    #expect(plain.field("Access-Control-Allow-Origin") == "*")
    #expect(plain.field("Content-Encoding") == nil)
    let gzip = try origin.ask("GET", Self.path, ["Accept-Encoding: gzip"])
    #expect(gzip.field("Content-Encoding") == "gzip" && gzip.field("Vary") == "Accept-Encoding")
    let zstd = try origin.ask("GET", Self.path, ["Accept-Encoding: gzip, zstd"])
    #expect(zstd.field("Content-Encoding") == "zstd")
    let tags = Set([plain, gzip, zstd].compactMap { $0.field("ETag") })
    #expect(tags.count == 3)
    for (reply, coding) in [(plain, "identity"), (gzip, "gzip"), (zstd, "zstd")] {
      let tag = reply.field("ETag") ?? ""
      let again = try origin.ask("GET", Self.path, ["Accept-Encoding: \(coding)", "If-None-Match: \(tag)"])
      #expect(again.status == 304 && again.body.isEmpty && again.field("ETag") == tag)
    }
  }

  @Test func otherMethodsAreRefused() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    for target in [Self.path, "/xcache/shop/configure.json", "/healthz", "/metrics"] {
      let reply = try origin.ask("POST", target, body: [])
      #expect(reply.status == 405 && reply.field("Allow") == "GET, HEAD, OPTIONS", "\(target)")
      #expect(try origin.ask("OPTIONS", target).status == 204)
    }
  }

  @Test func creatingAnAppNeverChangesAnAnswer() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"], app: "zebra")
    let before = try origin.ask("GET", "/configure.json").body
    try origin.publish(["b.js": "b"], app: "ant")
    #expect(try origin.ask("GET", "/configure.json").body == before)
  }

  @Test func unpublishedChannelHasAnEmptyManifest() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let reply = try origin.api(
      "POST", "apps/shop/channels/online/releases", ["bundles": [["bundle": "main", "unpublish": true]]])
    #expect(reply.status == 201)
    let data = try origin.ask("GET", Self.path).json["data"]
    #expect(data?["version"]?.string == "2")
    #expect(data?["resourcemap"]?.object?.isEmpty == true)
    #expect(data?["digest"]?.string == SHA256.of(Array("{}".utf8)).hex)
  }

  @Test func answersAreTheSameAfterARestart() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one", "b.js": "two"])
    try origin.publish(["a.js": "three"])
    let again = try Origin(
      store: origin.store, options: .init(publicURL: BaseURL("https://other.example.com")))
    let live = origin.origin.catalog.current.channels
    let loaded = again.catalog.current.channels
    #expect(live.map(\.digest) == loaded.map(\.digest))
    let maps = try loaded.map { try again.builder.map(of: $0) }
    #expect(live.map { $0.held.map?.digest } == maps.map(\.digest))
    #expect(maps.map { Array($0.digest.hex.utf8) } == loaded.map(\.digest))
  }
}
