import Manifests
import Testing

@testable import Origin

@Suite struct InfoTests {
  static let paths = [
    "/xcache/shop/info.json", "/hxm/xcache/shop/info.json", "/info.json?app=shop", "/info.json",
    "/info.json?app=shop&channel=online",
  ]

  @Test(arguments: paths) func filesAndVersion(_ path: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["z.js": "z", "index.html": "<p>"])
    let digest = try #require(try origin.ask("GET", "/configure.json").json["data"]?["digest"]?.string)
    let reply = try origin.ask("GET", path)
    #expect(reply.status == 200)
    #expect(
      reply.text
        == "{\"files\":[\"https://m.example.com/index.html\",\"https://m.example.com/z.js\"],"
        + "\"version\":\"\(digest.prefix(20))\"}")
    let tag = try #require(reply.field("ETag"))
    #expect(try origin.ask("GET", path, ["If-None-Match: \(tag)"]).status == 304)
    try origin.publish(["z.js": "z2"])
    let next = try origin.ask("GET", path, ["If-None-Match: \(tag)"])
    #expect(next.status == 200)
    #expect(next.text != reply.text)
  }

  @Test func largeListsAreCoded() throws {
    let origin = try TestOrigin()
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<300).map { ("f/\($0).js", "x") }))
    let plain = try origin.ask("GET", "/xcache/shop/info.json")
    let coded = try origin.ask("GET", "/xcache/shop/info.json", ["Accept-Encoding: gzip"])
    #expect(plain.json["files"]?.array?.count == 300)
    #expect(coded.field("Content-Encoding") == "gzip")
    #expect(coded.body.count * 3 < plain.body.count)
    #expect(plain.field("Vary") == "Accept-Encoding")
  }

  @Test func unknownApp() throws {
    let origin = try TestOrigin()
    try origin.publish(["a": "1"])
    #expect(try origin.ask("GET", "/xcache/other/info.json").status == 404)
    #expect(try origin.ask("GET", "/info.json?app=other").status == 404)
    #expect(try origin.ask("GET", "/xcache/shop/info.json/x").status == 404)
  }
}
