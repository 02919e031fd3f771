import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Headers of entries, as devices and publishers get them.
@Suite struct HeadersTests {
  private static let url = "https://m.example.com/index.html"

  private func publish(_ origin: TestOrigin, base: String, _ headers: JSONValue?) throws -> TestOrigin.Reply {
    let bytes = Array("<p>page".utf8)
    let digest = FileDigest(md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count))
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
    var content = ResourceContent(digest, ctype: .of(fileName: "index.html")).json.object ?? JSONObject()
    content["headers"] = headers
    let change: JSONValue = [
      "base": .string(base), "bundle": "main",
      "set": .object(JSONObject([.init(key: Self.url, value: .object(content))])),
    ]
    return try origin.api("POST", "apps/shop/channels/online/releases", ["bundles": [change], "now": true])
  }

  @Test func headersAreInDocumentsButNotInDownloads() throws {
    let origin = try TestOrigin()
    #expect(try publish(origin, base: "0", nil).status == 201)
    let headers: JSONValue = ["Content-Security-Policy": "default-src 'self'", "X-Frame-Options": "DENY"]
    let answer = try publish(origin, base: "1", headers)
    #expect(answer.status == 201 && answer.json["counts"]?["changed"]?.integer == 1, "\(answer.text)")
    let whole = try origin.ask("GET", "/configure.json?app=shop")
    let entry = try #require(whole.json["data"]?["resourcemap"]?[Self.url])
    #expect(entry["headers"] == headers && entry["version"]?.string == "2")
    let patch = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1")
    #expect((patch.json["data"]?["patch"] ?? patch.json["data"]?["resourcemap"])?[Self.url] == entry)
    let diff = try origin.api("GET", "apps/shop/channels/online/diff?from=1&to=2").json
    #expect(diff["changed"]?.array?.first?["headers"] == headers)
    #expect(diff["changed"]?.array?.first?["was"]?["headers"] == nil)
    // The device has the bytes: changed headers cost no download.
    #expect(diff["cost"]?["files"]?.integer == 0)
    let listed = try origin.api("GET", "apps/shop/channels/online/bundles/main/entries").json
    #expect(listed["entries"]?[Self.url]?["headers"] == headers)
    let path = try #require(entry["download"]?.string?.dropFirst("https://cdn.example.com".count))
    let download = try origin.ask("GET", String(path))
    #expect(download.status == 200 && download.field("Content-Security-Policy") != "default-src 'self'")
    #expect(download.field("X-Frame-Options") == nil)
  }

  // As strings: Testing encodes arguments by itself, but JSONValue is encoded only by this project's encoder.
  @Test(arguments: [
    (#"{"Set-Cookie":"a=b"}"#, "\"Set-Cookie\" is not a header that an entry can have"),
    (#"{"X-Frame-Options":"a\r\nSet-Cookie: b"}"#, "X-Frame-Options: the value has a line break at byte 1"),
    (#"{"X-Frame-Options":"é"}"#, "isn't ASCII at byte 0"), ("[]", "headers are an object"),
    (#"{"X-Frame-Options":"\#(String(repeating: "a", count: 8193))"}"#, "8193 bytes; the limit is 8192"),
  ])
  func invalidHeadersAreRefused(_ headers: String, _ words: String) throws {
    let origin = try TestOrigin()
    let answer = try publish(origin, base: "0", JSONValue.parse(Array(headers.utf8)))
    #expect(
      answer.status == 400 && answer.text.replacing("\\\"", with: "\"").contains(words), "\(answer.text)")
    #expect(answer.text.contains(Self.url))
  }
}
