import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Files that updates leave out until a page asks for them, as devices and publishers get and give them.
@Suite struct LazyFileTests {
  private static let url = "https://m.example.com/a.map"
  private static let online = "apps/shop/channels/online"

  @Test func lazyIsInDocuments() throws {
    let origin = try TestOrigin()
    #expect(try origin.publish(["a.map": "{}", "b.js": "1"]).status == 201)
    let answer = try origin.publish(["a.map": "{}", "b.js": "2"], lazy: ["a.map"])
    #expect(answer.status == 201 && answer.json["counts"]?["changed"]?.integer == 2, "\(answer.text)")
    let whole = try origin.ask("GET", "/configure.json?app=shop")
    let entry = try #require(whole.json["data"]?["resourcemap"]?[Self.url])
    #expect(entry["lazy"]?.bool == true && entry["version"]?.string == "2")
    #expect(whole.json["data"]?["resourcemap"]?["https://m.example.com/b.js"]?["lazy"] == nil)
    let patch = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1")
    #expect((patch.json["data"]?["patch"] ?? patch.json["data"]?["resourcemap"])?[Self.url] == entry)
    let listed = try origin.api("GET", "\(Self.online)/bundles/main/entries").json
    #expect(listed["entries"]?[Self.url]?["lazy"]?.bool == true)
    let diff = try origin.api("GET", "\(Self.online)/diff?from=1&to=2").json
    let file = try #require(diff["changed"]?.array?.first { $0["url"]?.string == Self.url })
    #expect(file["lazy"]?.bool == true && file["was"]?["lazy"] == nil)
    let back = try origin.api("GET", "\(Self.online)/diff?from=2&to=1").json
    let old = try #require(back["changed"]?.array?.first { $0["url"]?.string == Self.url })
    #expect(old["lazy"] == nil && old["was"]?["lazy"]?.bool == true)
  }

  /// What is lazy isn't part of a download, and is told by itself.
  @Test func costs() throws {
    let origin = try TestOrigin()
    let files = ["a.map": "{}", "b.map": "[1]", "c.js": "[1]", "d.png": "png"]
    #expect(try origin.publish(files, lazy: ["a.map", "b.map"]).status == 201)
    // b.map has the bytes of c.js, which devices fetch.
    let first = try origin.api("GET", "\(Self.online)/diff?from=0&to=1").json["cost"]
    #expect(first?["files"]?.integer == 2 && first?["bytes"]?.integer == 6, "\(first ?? .null)")
    #expect(first?["lazy"] == ["bytes": 2, "files": 1])
    let shown = try origin.api("GET", "\(Self.online)/releases/1").json
    #expect(shown["lazy"] == ["bytes": 5, "files": 2] && shown["cost"]?["lazy"] == ["bytes": 2, "files": 1])
    #expect(
      try origin.api("GET", "\(Self.online)/log").json["releases"]?.array?.first?["lazy"] == nil)

    // A lazy file that changes isn't fetched; one that is no longer lazy is, whether or not its bytes are the same.
    #expect(try origin.publish(["a.map": "{ }", "d.png": "PNG!"], lazy: ["a.map"]).status == 201)
    let second = try origin.api("GET", "\(Self.online)/diff?from=1&to=2").json["cost"]
    #expect(second?["files"]?.integer == 1 && second?["bytes"]?.integer == 4)
    #expect(second?["lazy"] == ["bytes": 3, "files": 1])
    #expect(try origin.publish(["a.map": "{ }"]).status == 201)
    let third = try origin.api("GET", "\(Self.online)/diff?from=2&to=3").json
    #expect(third["cost"]?["files"]?.integer == 1 && third["cost"]?["bytes"]?.integer == 3)
    #expect(third["cost"]?["lazy"] == nil && third["changed"]?.array?.first?["plain"]?.integer == 3)

    let release = try origin.release(["e.map": "12345", "f.js": "1234"], lazy: ["e.map"])
    let planned = try PackCostTests.prepare(origin, release)
    #expect(planned["last1"]?["lazy"] == ["bytes": 5, "files": 1])
    // Of b.map, devices have the bytes by c.js.
    #expect(planned["new"]?["lazy"] == ["bytes": 5, "files": 1])
    #expect(planned["last1"]?["files"]?.integer == 1 && planned["last1"]?["bytes"]?.integer == 4)
    #expect(planned["new"]?["files"]?.integer == 4)
  }

  /// A release waits only for deltas of what updates fetch.
  @Test func lazyFilesGetNoDeltas() throws {
    let origin = try TestOrigin()
    let (old, new) = (DeltaTests.old, DeltaTests.new)
    try origin.publish(["a.js": old, "b.js": old + "// b"], lazy: ["b.js"])
    try origin.publish(["a.js": new, "b.js": new + "// b"], lazy: ["b.js"])
    let offers = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1").json["data"]?["deltas"]
    #expect(offers?.object?.members.map(\.key) == ["https://m.example.com/a.js"])
  }

  private func publish(_ origin: TestOrigin, _ path: String, _ members: JSONObject) throws
    -> TestOrigin.Reply
  {
    let bytes = Array("file".utf8)
    let digest = FileDigest(md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count))
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
    var content = ResourceContent(digest, ctype: .of(fileName: path)).json.object ?? JSONObject()
    for member in members.members { content[member.key] = member.value }
    let url = "https://m.example.com/\(path)"
    let change: JSONValue = [
      "base": "0", "bundle": "main", "set": .object(JSONObject([.init(key: url, value: .object(content))])),
    ]
    return try origin.api("POST", "\(Self.online)/releases", ["bundles": [change], "now": true])
  }

  @Test(arguments: ["false", "null", "1", #""true""#, "[]"]) func otherValuesAreRefused(_ value: String)
    throws
  {
    let origin = try TestOrigin()
    let lazy = try JSONValue.parse(Array(value.utf8))
    let answer = try publish(origin, "a.map", JSONObject([.init(key: "lazy", value: lazy)]))
    #expect(answer.status == 400, "\(answer.text)")
    let detail = answer.json["detail"]?.string
    #expect(
      detail == "\(Self.url): \"lazy\" can only be true; leave it out for a file that updates fetch")
  }

  /// They are to open offline.
  @Test func pagesAreRefused() throws {
    let origin = try TestOrigin()
    let lazy = JSONObject([.init(key: "lazy", value: .bool(true))])
    for (path, members) in [
      ("a.html", lazy), ("a.xhtml", lazy),
      (
        "a.js",
        JSONObject([
          .init(key: "fallback", value: [["prefix": "/"]]), .init(key: "lazy", value: .bool(true)),
        ])
      ),
    ] {
      let answer = try publish(origin, path, members)
      #expect(answer.status == 400, "\(answer.text)")
      let detail = answer.json["detail"]?.string ?? ""
      #expect(detail.hasPrefix("https://m.example.com/\(path): a page can't be lazy"), "\(detail)")
    }
    #expect(try publish(origin, "a.js", lazy).status == 201)
  }
}
