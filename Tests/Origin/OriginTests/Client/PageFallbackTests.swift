import Archive
import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// For which navigations a page answers, as devices and publishers get and give it.
@Suite struct PageFallbackTests {
  private static let url = "https://m.example.com/index.html"
  private static let online = "apps/shop/channels/online"

  private func publish(_ origin: TestOrigin, base: String, _ fallback: JSONValue?) throws -> TestOrigin.Reply
  {
    let bytes = Array("<p>page".utf8)
    let digest = FileDigest(md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count))
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
    var content = ResourceContent(digest, ctype: .of(fileName: "index.html")).json.object ?? JSONObject()
    content["fallback"] = fallback
    let change: JSONValue = [
      "base": .string(base), "bundle": "main",
      "set": .object(JSONObject([.init(key: Self.url, value: .object(content))])),
    ]
    return try origin.api("POST", "\(Self.online)/releases", ["bundles": [change], "now": true])
  }

  @Test func fallbacksAreInDocuments() throws {
    let origin = try TestOrigin()
    #expect(try publish(origin, base: "0", nil).status == 201)
    let fallback: JSONValue = [["except": ["/app/api/*"], "prefix": "/app/"], ["prefix": "/b/"]]
    let given: JSONValue = [["prefix": "/b/"], ["except": ["/app/api/*"], "prefix": "/x/../app/"]]
    let answer = try publish(origin, base: "1", given)
    #expect(answer.status == 201 && answer.json["counts"]?["changed"]?.integer == 1, "\(answer.text)")
    let whole = try origin.ask("GET", "/configure.json?app=shop")
    let entry = try #require(whole.json["data"]?["resourcemap"]?[Self.url])
    #expect(entry["fallback"] == fallback && entry["version"]?.string == "2")
    let patch = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1")
    #expect((patch.json["data"]?["patch"] ?? patch.json["data"]?["resourcemap"])?[Self.url] == entry)
    let diff = try origin.api("GET", "\(Self.online)/diff?from=1&to=2").json
    #expect(diff["changed"]?.array?.first?["fallback"] == fallback)
    #expect(diff["changed"]?.array?.first?["was"]?["fallback"] == nil)
    let back = try origin.api("GET", "\(Self.online)/diff?from=2&to=1").json
    #expect(back["changed"]?.array?.first?["fallback"] == nil)
    #expect(back["changed"]?.array?.first?["was"]?["fallback"] == fallback)
    // The device has the bytes: a changed fallback costs no download.
    #expect(diff["cost"]?["files"]?.integer == 0)
    let listed = try origin.api("GET", "\(Self.online)/bundles/main/entries").json
    #expect(listed["entries"]?[Self.url]?["fallback"] == fallback)
  }

  // As strings: Testing encodes arguments by itself, but JSONValue is encoded only by this project's encoder.
  @Test(arguments: [
    ("[]", "1 to 4 prefixes, not of 0"), ("{}", "a fallback is a list of objects"),
    (#"[{"prefix":"/app"}]"#, #""/app" is not a path that begins and ends with /"#),
    (#"[{"prefix":"https://n.example.com/"}]"#, "is not a path that begins and ends with /"),
    (#"[{"prefix":"/","excpet":[]}]"#, #""excpet" is not a member of a fallback"#),
    (#"[{"prefix":"/"},{"prefix":"/"}]"#, "the prefix / appears twice"),
    (#"[{"prefix":"/","except":["*.js"]}]"#, #""*.js" in "except" doesn't begin with /"#),
    (#"[{"prefix":"/","except":["1","2","3","4","5","6","7","8","9"]}]"#, "8 patterns in \"except\", not 9"),
    (#"[{"prefix":"/\#(String(repeating: "a", count: 5000))/"}]"#, "is not a path"),
    (#"[{"prefix":"/\r\nSet-Cookie: a=b/"}]"#, "is not a path"),
  ])
  func invalidFallbacksAreRefused(_ fallback: String, _ words: String) throws {
    let origin = try TestOrigin()
    let answer = try publish(origin, base: "0", JSONValue.parse(Array(fallback.utf8)))
    #expect(
      answer.status == 400 && answer.text.replacing("\\\"", with: "\"").contains(words), "\(answer.text)")
    #expect(answer.text.contains(Self.url))
  }

  /// Patches, zips and a rollback's preview lead from each set of fallbacks to each other.
  @Test func patchesAndZips() throws {
    let origin = try TestOrigin()
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0).js", "\($0)") }))
    let sets = try [
      PageFallbacks([.init(prefix: "/a/"), .init(prefix: "/", except: ["/api/*"])]),
      PageFallbacks([.init(prefix: "/")]),
      PageFallbacks(), PageFallbacks([.init(prefix: "/a/")]),
    ]
    for fallbacks in sets {
      #expect(try origin.publish(["p.html": "page"], fallbacks: fallbacks).status == 201)
    }
    for base in 1...4 as ClosedRange<Int64> {
      let polled = try origin.ask("GET", "/configure.json?app=shop&version=\(base)&patch=1").body
      guard case .patch(let answer) = try ConfigureAnswer.parse(polled) else {
        Issue.record("\(base) to 5 is no patch")
        continue
      }
      #expect(try origin.manifest(base).applying(answer) == origin.manifest(5))
      let reply = try origin.ask("GET", "/xcache/shop/bundle/\(base)-5.zip")
      try #require(reply.status == 200, "\(reply.text)")
      let archive = try Archive(ArchiveBytes(reply.body))
      let entry = try #require(archive.entries.first { $0.name == "patch.json" })
      guard case .patch(let zipped) = try ConfigureAnswer.parse(archive.bytes(of: entry, limit: 1 << 20))
      else {
        Issue.record("\(base)-5.zip has no patch")
        continue
      }
      #expect(try origin.manifest(base).applying(zipped) == origin.manifest(5))
    }
    let body: JSONValue = ["allBundles": true, "dryRun": true, "to": "4"]
    let preview = try origin.api("POST", "\(Self.online)/rollback", body)
    let now = try JSONValue.parse(try origin.manifest(5).map.bytes)
    #expect(
      try MergePatch.apply(try #require(preview.json["patch"]), to: now).canonical
        == origin.manifest(4).map.bytes)
  }

  private static func entry(_ origin: TestOrigin, _ channel: String, _ url: String) throws -> JSONValue? {
    let map = try origin.ask("GET", "/configure.json?app=shop&channel=\(channel)").json["data"]?[
      "resourcemap"]
    return map?[url]?["fallback"]
  }

  @Test func promotionTakesThemAlong() throws {
    let origin = try TestOrigin()
    let fallbacks = try PageFallbacks([.init(prefix: "/test/app/", except: ["/test/api/*", "/*.js"])])
    let page = "test/app/index.html"
    try origin.publish(["a.js": "a"])
    #expect(try origin.publish([page: "<p>"], channel: "test", fallbacks: fallbacks).status == 201)
    let done = try origin.api("POST", "\(Self.online)/promote", ["from": "test"])
    #expect(done.status == 201, "\(done.text)")
    #expect(try Self.entry(origin, "online", "https://m.example.com/\(page)") == fallbacks.json)
    // Rewritten, it is of the folder and host that the page has then.
    func map(_ from: String, _ to: String) throws -> TestOrigin.Reply {
      let map: JSONValue = [["from": .string(from), "to": .string(to)]]
      return try origin.api("POST", "\(Self.online)/promote", ["from": "test", "map": map])
    }
    #expect(try map("https://m.example.com/test", "https://www.example.com").status == 201)
    let moved: JSONValue = [["except": ["/api/*", "/*.js"], "prefix": "/app/"]]
    #expect(try Self.entry(origin, "online", "https://www.example.com/app/index.html") == moved)
    let refused = try map("https://m.example.com/test/app/index.html", "https://www.example.com/index.html")
    #expect(refused.status == 400, "\(refused.text)")
    #expect(
      refused.text.contains("the fallback for https://m.example.com/test/app/, which would stay behind"))
  }
}
