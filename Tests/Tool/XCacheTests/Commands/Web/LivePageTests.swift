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
      (200, [("Cache-Control", "No-Store")], ["Cache-Control: no-store"]),
      (
        200, [("Content-Security-Policy", "default-src *")],
        ["has Content-Security-Policy: default-src * from its server, and devices send default-src 'self'"]
      ),
      (200, [("Content-Security-Policy", "  default-src\t 'self' ; ")], []),
      (
        200, [("Content-Security-Policy", "default-src 'self'; worker-src 'none'")],
        ["and devices send default-src 'self'", "stands in the way: add worker-src 'self'"]
      ),
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

  @Test(
    "Values are compared by what they mean",
    arguments: [
      (
        .contentSecurityPolicy, "script-src 'self' 'nonce-a'; img-src *",
        "img-src *;script-src 'self' 'nonce-b'", true
      ),
      (.contentSecurityPolicy, "img-src 'self'", "img-src 'self', img-src *", false),
      (.permissionsPolicy, "camera=(), geolocation=()", "geolocation=(),camera=()", true),
      (.permissionsPolicy, "camera=()", "camera=(self)", false), (.xFrameOptions, "DENY", "deny", true),
      (.crossOriginOpenerPolicy, "same-origin", "same-origin-allow-popups", false),
      (.contentSecurityPolicyReportOnly, "img-src *", "img-src a.test", true),
    ] as [(EntryHeaders.Name, String, String, Bool)])
  func values(_ name: EntryHeaders.Name, _ own: String, _ live: String, _ areEqual: Bool) throws {
    let page = LivePage(
      url: "https://m.test/", status: 200, fields: HTTPFields([(name: name.rawValue, value: live)]))
    let found = page.warnings(EntryHeaders([name: try EntryHeaders.Value(own)]))
    #expect(found.isEmpty == areEqual, "\(found)")
  }

  @Test("A Content-Security-Policy in xcache.json that refuses the worker is named, whatever the site sends")
  func ownPolicy() throws {
    let policy = try EntryHeaders.Value("script-src 'self'; worker-src 'none'")
    let page = LivePage(url: "https://m.test/", status: 200, fields: [])
    let found = page.warnings(EntryHeaders([.contentSecurityPolicy: policy]))
    #expect(found.count == 1 && found[0].contains("in xcache.json stands in the way"), "\(found)")
  }
}
