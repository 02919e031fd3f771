import HTTP
import Store
import System
import Testing
import Values

@testable import Origin

/// What all routes below `/auth/` have in common, and the cookie at the API.
@Suite struct SignInRouteTests {
  private let provider = TestProvider()

  private static let reads = ["/auth/", "/auth/login", "/auth/callback"]
  private static let acts = ["/auth/session", "/auth/logout", "/auth/trade", "/auth/device", "/auth/token"]

  @Test func methods() throws {
    let origin = try TestOrigin.signingIn(provider)
    for path in Self.reads {
      let wrong = try origin.ask("POST", path, ["Content-Type: application/json"], body: Array("{}".utf8))
      #expect(wrong.status == 405 && wrong.field("Allow") == "GET, HEAD, OPTIONS", "\(path)")
      #expect(try origin.ask("HEAD", path).status != 405)
    }
    for path in Self.acts {
      let wrong = try origin.ask("GET", path)
      #expect(wrong.status == 405 && wrong.field("Allow") == "POST, OPTIONS", "\(path)")
    }
    #expect(try origin.ask("GET", "/auth/other").status == 404)
    #expect(try origin.ask("GET", "/auth").status == 404)
  }

  /// A script of another site must never be allowed to read an answer, nor a cache to keep one.
  @Test func noOtherSiteAndNoCacheHasAnyOfIt() throws {
    let origin = try TestOrigin.signingIn(
      provider, { $0.edge = EdgePolicy(ttl: 10, header: .cdnCacheControl) })
    let json = ["Content-Type: application/json", "Origin: https://evil.example.com"]
    var replies: [TestOrigin.Reply] = []
    for path in Self.reads + Self.acts {
      replies.append(try origin.ask("OPTIONS", path, ["Origin: https://evil.example.com"]))
      replies.append(try origin.ask("GET", path, json))
      replies.append(try origin.ask("POST", path, json, body: Array("{}".utf8)))
    }
    for reply in replies {
      #expect(!reply.head.lowercased().contains("access-control-"), "\(reply.head)")
      #expect(reply.field("Cache-Control") == "no-store" && reply.field("CDN-Cache-Control") == nil)
      #expect(reply.field("Referrer-Policy") == "no-referrer", "\(reply.head)")
    }
    #expect(replies[0].status == 204 && replies[0].field("Allow") == "GET, HEAD, OPTIONS")
  }

  @Test func formsAndLargeBodiesAreRefused() throws {
    let origin = try TestOrigin.signingIn(provider)
    for path in ["/auth/trade", "/auth/device", "/auth/token"] {
      for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let reply = try origin.ask("POST", path, ["Content-Type: \(type)"], body: Array("{}".utf8))
        #expect(reply.status == 415, "\(path) \(type)")
      }
      #expect(try origin.ask("POST", path, body: Array("{}".utf8)).status == 415)
      let large = [UInt8](repeating: 0x20, count: path == "/auth/trade" ? 65_537 : 4097)
      #expect(
        try origin.ask("POST", path, ["Content-Type: application/json; charset=utf-8"], body: large).status
          == 413)
      let broken = try origin.ask("POST", path, ["Content-Type: application/json"], body: Array("{".utf8))
      #expect(broken.status == 400)
      let unknown = try origin.ask(
        "POST", path, ["Content-Type: application/json"], body: Array("{\"scope\":\"admin\"}".utf8))
      #expect(
        unknown.status == 400 && unknown.text.contains("is not a member of this request"), "\(unknown.text)")
    }
  }

  // MARK: - The cookie

  @Test func theCookieNeedsTheConsolesField() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    func status(_ lines: [String]) throws -> Int {
      try origin.ask("GET", "/api/v1/token", [browser.cookie] + lines).status
    }
    #expect(try status(["Xcache-Console: 1"]) == 200)
    #expect(try status(["Xcache-Console: 1", "Sec-Fetch-Site: same-origin"]) == 200)
    #expect(try status([]) == 401)
    #expect(try status(["Xcache-Console: 0"]) == 401)
    for site in ["cross-site", "same-site", "none", ""] {
      #expect(try status(["Xcache-Console: 1", "Sec-Fetch-Site: \(site)"]) == 401, "\(site)")
    }
    // A token of one's own comes first, even a wrong one.
    #expect(try status(["Xcache-Console: 1", "Authorization: Bearer x"]) == 401)
    #expect(try status(["Xcache-Console: 1", "Authorization: Basic eA=="]) == 401)
  }

  @Test func hostileCookies() throws {
    let origin = try TestOrigin.signingIn(provider)
    let value = try origin.signedIn(provider).cookies["__Host-xcache"] ?? ""
    func status(_ cookies: [String]) throws -> Int {
      try origin.ask("GET", "/api/v1/token", ["Xcache-Console: 1"] + cookies.map { "Cookie: \($0)" }).status
    }
    #expect(try status(["a=1; __Host-xcache=\(value); b=\"2\""]) == 200)
    #expect(try status(["a=1", "__Host-xcache=\(value)"]) == 200)
    // Nobody knows which of two is the browser's own.
    #expect(try status(["__Host-xcache=\(value); __Host-xcache=\(value)"]) == 401)
    #expect(try status(["__Host-xcache=\(value)", "__Host-xcache=x"]) == 401)
    #expect(try status(["__Host-xcache=\"\(value)\""]) == 401)
    #expect(try status(["__host-xcache=\(value)"]) == 401)
    #expect(try status(["x__Host-xcache=\(value)"]) == 401)
    #expect(try status(["__Host-xcache"]) == 401)
    #expect(try status(["__Host-xcache="]) == 401)
    #expect(try status(["__Host-xcache=\(String(repeating: "a", count: 300))"]) == 401)
    #expect(try status([String(repeating: "a=1;", count: 1000) + "__Host-xcache=\(value)"]) == 200)
  }

  @Test func aRevokedOrExpiredSessionIsAWrongToken() throws {
    let now = Locked(Clock.unixMilliseconds())
    let clock: @Sendable () -> Int64 = { now.withLock { $0 } }
    let provider = TestProvider(clock: clock)
    let origin = try TestOrigin.signingIn(provider, clock: clock)
    let revoked = try origin.signedIn(provider, code: "c1")
    let id = try revoked.call("GET", "token", nil, origin).json["id"]?.string ?? ""
    #expect(try origin.api("DELETE", "tokens/\(id)").status == 200)
    let answer = try revoked.call("GET", "token", nil, origin)
    #expect(answer.status == 401 && answer.json["code"] == "token")
    let expired = try origin.signedIn(provider, code: "c2")
    #expect(try expired.call("GET", "token", nil, origin).status == 200)
    now.withLock { $0 += 12 * 3_600_000 + 1 }
    #expect(try expired.call("GET", "token", nil, origin).status == 401)
  }

  @Test func logoutEndsTheSession() throws {
    let origin = try TestOrigin.signingIn(provider)
    let browser = try origin.signedIn(provider)
    // What a form of another site can send.
    let forged = try origin.ask("POST", "/auth/logout", [browser.cookie])
    #expect(forged.status == 401 && forged.field("Set-Cookie") == nil)
    for _ in 0..<2 {
      let reply = try browser.call("POST", "/auth/logout", nil, origin)
      #expect(reply.status == 204 && reply.field("Set-Cookie")?.contains("Max-Age=0") == true)
      #expect(try browser.call("GET", "token", nil, origin).status == 401)
    }
    // A token isn't a session.
    #expect(try origin.ask("POST", "/auth/logout", ["Authorization: Bearer \(origin.token)"]).status == 204)
    #expect(try origin.api("GET", "token").status == 200)
  }

  /// Two spellings of one letter are two people to a provider.
  @Test func subjectsAreComparedAsBytes() throws {
    let origin = try TestOrigin.signingIn(provider)
    var browsers: [TestBrowser] = []
    for (place, subject) in ["ren\u{E9}", "rene\u{301}"].enumerated() {
      provider.state.withLock { $0.claims = ["groups": ["mobile-team"], "sub": .string(subject)] }
      browsers.append(try origin.signedIn(provider, code: "c\(place)"))
    }
    let id = try browsers[0].call("GET", "token", nil, origin).json["id"]?.string ?? ""
    #expect(try browsers[1].call("DELETE", "sessions/\(id)", nil, origin).status == 404)
    #expect(try browsers[0].call("GET", "token", nil, origin).status == 200)
  }

  @Test func onesOwnSessions() throws {
    let origin = try TestOrigin.signingIn(provider)
    let one = try origin.signedIn(provider, code: "c1")
    let two = try origin.signedIn(provider, code: "c2")
    provider.state.withLock { $0.claims = ["email": "bo@acme.com", "groups": ["mobile-team"], "sub": "bo"] }
    let other = try origin.signedIn(provider, code: "c3")
    let list = try one.call("GET", "sessions", nil, origin).json["sessions"]?.array ?? []
    #expect(list.count == 2 && list.filter { $0["isCurrent"] == true }.count == 1)
    #expect(list.allSatisfy { $0["client"] == "console" })
    let id = try two.call("GET", "token", nil, origin).json["id"]?.string ?? ""
    #expect(try other.call("DELETE", "sessions/\(id)", nil, origin).status == 404)
    for _ in 0..<2 { #expect(try one.call("DELETE", "sessions/\(id)", nil, origin).status == 200) }
    #expect(try two.call("GET", "token", nil, origin).status == 401)
    #expect(try origin.api("GET", "sessions").json["sessions"]?.array?.isEmpty == true)
    let all = try origin.api("GET", "tokens").json["tokens"]?.array ?? []
    #expect(all.filter { $0["kind"] == "session" }.count == 2)
    let sessions = try origin.api("GET", "tokens?kind=session").json["tokens"]?.array ?? []
    #expect(sessions.count == 3)
    #expect(try origin.api("GET", "tokens?kind=other").status == 400)
  }
}
