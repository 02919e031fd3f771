import Manifests
import Store
import System
import Testing
import TestSupport
import Values

@testable import Origin

/// Pictures of a version's pages: who sends them, what is taken, and where they are seen.
@Suite struct PictureTests {
  private static let path = "apps/shop/channels/online/releases/1/pictures"

  /// The beginning of a PNG, and some bytes.
  private static func png(_ width: Int, _ height: Int, bytes: Int = 40) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    let head: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8)
    return head + number(width) + number(height) + [UInt8](repeating: 7, count: max(0, bytes - 24))
  }

  private func origin() throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(["index.html": "<!doctype html>", "help.html": "<!doctype html>"])
    return origin
  }

  private func send(_ origin: TestOrigin, _ bytes: [UInt8]) throws -> String {
    _ = try origin.store.receive(bytes.span.bytes, BlobClaim(sha256: .of(bytes), md5: .of(bytes)))
    return SHA256.of(bytes).hex
  }

  private func body(_ pictures: [(page: String, blob: String, width: Int, height: Int)]) -> JSONValue {
    [
      "pictures": .array(
        pictures.map {
          [
            "page": .string("https://m.example.com/\($0.page)"), "blob": .string($0.blob),
            "width": .integer($0.width),
            "height": .integer($0.height),
          ]
        })
    ]
  }

  @Test func picturesAreKeptWithTheirVersion() throws {
    let origin = try origin()
    #expect(try origin.api("GET", Self.path).json["pictures"] == [])
    let blob = try send(origin, Self.png(390, 844))
    let reply = try origin.api("POST", Self.path, body([("index.html", blob, 390, 844)]))
    #expect(reply.status == 201, "\(reply.text)")
    let list = try origin.api("GET", Self.path)
    #expect(list.json == reply.json)
    let picture = try #require(list.json["pictures"]?.array?.first)
    #expect(picture["page"]?.string == "https://m.example.com/index.html" && picture["size"]?.integer == 40)
    #expect(picture["width"]?.integer == 390 && picture["height"]?.integer == 844)
    let href = try #require(picture["href"]?.string)
    #expect(href == "/api/v1/\(Self.path)/\(blob)")
    let image = try origin.ask("GET", href, ["Authorization: Bearer \(origin.token)"])
    #expect(image.status == 200 && image.body == Self.png(390, 844))
    #expect(image.field("Content-Type") == "image/png" && image.field("X-Content-Type-Options") == "nosniff")
    #expect(image.field("Content-Security-Policy")?.contains("sandbox") == true)
    // Nobody gets it without a token, and it is in no manifest.
    #expect(try origin.ask("GET", href).status == 401)
    #expect(try origin.api("GET", "apps/shop/channels/online/manifest").text.contains(blob) == false)
    #expect(
      try origin.api("GET", "apps/shop/channels/online/mirror/resources?from=0&version=1").text.contains(blob)
        == false)
    let acts = try origin.api("GET", "audit").text
    #expect(acts.contains("pictures.add"))
  }

  @Test func aPageGetsTheNewerPicture() throws {
    let origin = try origin()
    let (old, new) = (try send(origin, Self.png(10, 10)), try send(origin, Self.png(20, 20)))
    _ = try origin.api("POST", Self.path, body([("index.html", old, 10, 10)]))
    _ = try origin.api("POST", Self.path, body([("index.html", new, 20, 20), ("help.html", new, 20, 20)]))
    let pictures = try #require(try origin.api("GET", Self.path).json["pictures"]?.array)
    #expect(pictures.map { $0["width"]?.integer } == [20, 20])
    #expect(try origin.api("GET", "\(Self.path)/\(old)").status == 404)
    #expect(try origin.api("GET", "\(Self.path)/\(new)").status == 200)
  }

  @Test func whatIsNoPictureIsRefused() throws {
    let origin = try origin()
    let good = try send(origin, Self.png(10, 10))
    let text = try send(origin, Array("<svg onload=alert(1)>".utf8))
    let large = try send(origin, Self.png(10, 10, bytes: Int(PictureHandler.largest) + 1))
    let huge = try send(origin, Self.png(20_000, 10))
    for (picture, status) in [
      (("index.html", text, 10, 10), 400), (("index.html", large, 10, 10), 400),
      (("index.html", good, 11, 10), 400),
      (("index.html", huge, 20_000, 10), 400), (("other.html", good, 10, 10), 404),
      (("index.html", SHA256.of([1]).hex, 10, 10), 422),
    ] {
      let reply = try origin.api("POST", Self.path, body([picture]))
      #expect(reply.status == status, "\(picture): \(reply.text)")
    }
    #expect(try origin.api("POST", Self.path, body([])).status == 400)
    #expect(
      try origin.api("POST", Self.path, body([("index.html", good, 10, 10), ("index.html", good, 10, 10)]))
        .status == 400)
    #expect(
      try origin.api("POST", Self.path.replacing("/1/", with: "/7/"), body([("index.html", good, 10, 10)]))
        .status == 404)
    #expect(try origin.api("GET", Self.path).json["pictures"] == [])
  }

  @Test func noMoreThanTwentyPages() throws {
    let origin = try TestOrigin()
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<22).map { ("p\($0).html", "<!doctype html>") }))
    let blob = try send(origin, Self.png(10, 10))
    let pages = (0..<22).map { ("p\($0).html", blob, 10, 10) }
    #expect(try origin.api("POST", Self.path, body(pages)).status == 400)
    #expect(try origin.api("POST", Self.path, body(Array(pages.prefix(20)))).status == 201)
    #expect(try origin.api("POST", Self.path, body([pages[20]])).status == 400)
    #expect(try origin.api("POST", Self.path, body([pages[0]])).status == 201)
  }

  @Test func aTokenOfOtherBundlesReplacesNone() throws {
    let origin = try origin()
    let blob = try send(origin, Self.png(10, 10))
    let other = try origin.store.createToken(name: "help", scope: .publish, bundles: BundleGlob("help*"))
    let reply = try origin.api("POST", Self.path, body([("index.html", blob, 10, 10)]), token: other.text)
    #expect(reply.status == 403 && reply.json["code"]?.string == "scope")
  }
}
