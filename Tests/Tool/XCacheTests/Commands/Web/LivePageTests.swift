import HTTP
import Manifests
import Testing

@testable import xcache

@Suite("Differences between a live page and a device's")
struct LivePageTests {
  @Test(
    "Each difference is named, and nothing else",
    arguments: [
      (200, [("Content-Type", "text/html"), ("Vary", "Accept-Encoding")], []),
      (
        200,
        [("content-security-policy", "default-src 'self'"), ("Cross-Origin-Opener-Policy", "same-origin")],
        ["has Cross-Origin-Opener-Policy from its server"]
      ),
      (
        200, [("Set-Cookie", "id=1"), ("Cache-Control", "max-age=0, private"), ("Vary", "Origin, Cookie")],
        ["Set-Cookie, Cache-Control: private, Vary: Cookie"]
      ),
      (200, [("Cache-Control", "no-cache"), ("Vary", "Cookie2")], []),
      (302, [("Location", "/login")], ["a redirect (302)"]),
      (401, [], ["is answered with 401"]),
      (404, [("Set-Cookie", "id=1")], []),
    ] as [(Int, HTTPFields, [String])])
  func names(_ status: Int, _ fields: HTTPFields, _ wanted: [String]) throws {
    let headers = EntryHeaders([.contentSecurityPolicy: try EntryHeaders.Value("default-src 'self'")])
    let page = LivePage(
      url: "https://m.test/", status: status, fields: fields)
    let found = page.warnings(headers)
    #expect(found.count == wanted.count, "\(found)")
    for (warning, part) in zip(found, wanted) { #expect(warning.contains(part), "\(warning)") }
  }
}
