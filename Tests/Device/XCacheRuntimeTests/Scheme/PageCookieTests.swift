import System
import Testing

@testable import XCacheRuntime

/// An engine's cookie store, without the engine.
final class FakeScriptCookies: ScriptCookieStore {
  private let all: Locked<[PageCookie]>
  private let lines = Locked<[String]>([])

  init(_ cookies: [PageCookie]) { all = Locked(cookies) }

  var taken: [String] { lines.withLock { $0 } }

  func cookies(for url: String) async -> [PageCookie] {
    all.withLock { $0.filter { $0.isSent(to: url) } }
  }
  func header(for url: String) async -> String? { PageCookie.header(await cookies(for: url), for: url) }
  func take(_ values: [String], from url: String) async { lines.withLock { $0 += values } }
}

@Suite struct PageCookieTests {
  private static func cookie(
    _ name: String, _ domain: String, _ path: String = "/", isHTTPOnly: Bool = false, isSecure: Bool = false
  ) -> PageCookie {
    PageCookie(
      name: name, value: "v", domain: domain, path: path, isHTTPOnly: isHTTPOnly, isSecure: isSecure)
  }

  @Test(
    arguments: [
      ("m.test", "/", "https://m.test/", true), ("m.test", "/", "https://M.TEST/a", true),
      ("m.test", "/", "https://a.m.test/", false), (".m.test", "/", "https://a.m.test/", true),
      (".m.test", "/", "https://m.test/", true), (".m.test", "/", "https://evilm.test/", false),
      ("m.test", "/a", "https://m.test/a", true), ("m.test", "/a", "https://m.test/a/b?c", true),
      ("m.test", "/a", "https://m.test/ab", false), ("m.test", "/a/", "https://m.test/a/b", true),
      ("m.test", "/a", "https://m.test/", false),
    ])
  func cookiesAreSentByDomainAndPath(_ domain: String, _ path: String, _ url: String, _ isSent: Bool) {
    #expect(Self.cookie("a", domain, path).isSent(to: url) == isSent)
  }

  @Test func header() {
    let all = [
      Self.cookie("a", "m.test"), Self.cookie("b", "m.test", "/deep"), Self.cookie("c", "m.test"),
      Self.cookie("d", "m.test", isSecure: true), Self.cookie("e", "other.test"),
    ]
    #expect(PageCookie.header(all, for: "https://m.test/deep/x") == "b=v; a=v; c=v; d=v")
    #expect(PageCookie.header(all, for: "http://m.test/") == "a=v; c=v")
    #expect(PageCookie.header(all, for: "https://third.test/") == nil)
  }

  @Test func scriptsDoNotSeeHTTPOnlyCookies() async {
    let store = FakeScriptCookies([Self.cookie("a", "m.test"), Self.cookie("s", "m.test", isHTTPOnly: true)])
    #expect(await store.visible(at: "https://m.test/") == "a=v")
    #expect(await store.visible(at: "https://a.m.test/") == "")
  }

  @Test(
    arguments: [
      ("b=1", true), ("b=1; path=/; max-age=9", true), ("b=1; domain=m.test", true),
      ("b=1; domain=.m.test", true), ("b", true), ("b=1; HttpOnly", false), ("b=1 ;  httponly ", false),
      ("s=1", false), (" s =1; path=/deep", false), ("b=1; domain=test", false),
      ("b=1; domain=bank.test", false), ("b=1; domain=evilm.test", false), ("", false),
      ("b=1\r\nSet-Cookie: s=2", false),
    ])
  func cookiesThatScriptsMayWrite(_ line: String, _ isTaken: Bool) async {
    let store = FakeScriptCookies([Self.cookie("s", ".m.test", isHTTPOnly: true)])
    await store.write(line, at: "https://a.m.test/")
    #expect(store.taken == (isTaken ? [line] : []))
  }
}
