import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Sessions that the console begins with a token: what they may do is the token's, and they end with it.
@Suite struct TokenSessionTests {
  private static let console = [
    "Xcache-Console: 1", "Sec-Fetch-Site: same-origin", "Origin: https://xcache.example.com",
  ]

  private func begin(_ token: String, _ origin: TestOrigin, _ lines: [String] = console) throws
    -> TestOrigin.Reply
  {
    try origin.ask("POST", "/auth/session", ["Authorization: Bearer \(token)"] + lines)
  }

  /// A browser with the cookie that an answer set.
  private func browser(_ reply: TestOrigin.Reply) throws -> TestBrowser {
    let pair = try #require(reply.field("Set-Cookie")?.split(separator: ";").first)
    var browser = TestBrowser()
    browser.cookies["__Host-xcache"] = String(pair.dropFirst("__Host-xcache=".count))
    return browser
  }

  private func signedIn(_ token: String, _ origin: TestOrigin) throws -> TestBrowser {
    try browser(begin(token, origin))
  }

  private func makeToken(_ origin: TestOrigin, _ body: JSONValue) throws -> (id: String, text: String) {
    let made = try origin.api("POST", "tokens", body).json
    return (try #require(made["id"]?.string), try #require(made["token"]?.string))
  }

  /// A person tells their sessions apart by the browser's name, and nothing else of what it sent is kept.
  @Test func saysTheBrowser() throws {
    let origin = try TestOrigin()
    let token = try makeToken(origin, ["name": "ci", "scope": "read"])
    let fields =
      Self.console + ["User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"]
    let first = try browser(begin(token.text, origin, fields))
    _ = try begin(token.text, origin, Self.console + ["User-Agent: <b>curl"])
    let sessions = try first.call("GET", "sessions", nil, origin).json["sessions"]?.array
    #expect(sessions?.map { $0["browser"] } == ["Firefox on Linux", .null])
    #expect(sessions?.allSatisfy { $0["client"] == "console" } == true)
  }

  @Test func livesThroughReloads() throws {
    let origin = try TestOrigin()
    let token = try makeToken(
      origin, ["app": "shop", "hosts": ["m.example.com"], "name": "ci", "scope": "publish"])
    let reply = try begin(token.text, origin)
    #expect(reply.status == 200 && reply.field("Cache-Control") == "no-store", "\(reply.text)")
    let cookie = try #require(reply.field("Set-Cookie"))
    #expect(cookie.hasPrefix("__Host-xcache=xcache_"))
    #expect(cookie.hasSuffix("; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict"))
    // Its secret is in the cookie only, and isn't the token's.
    let secret = token.text.dropFirst("xcache_\(token.id)_".count)
    #expect(!cookie.contains(secret) && !reply.text.contains("xcache_"))
    let own = try browser(reply).call("GET", "token", nil, origin).json
    #expect(own["kind"] == "session" && own["name"] == "ci" && own["scope"] == "publish")
    #expect(own["issuer"] == "xcache" && own["subject"] == .string("token:\(token.id)"))
    #expect(own["app"] == "shop" && own["hosts"] == ["m.example.com"] && own["detail"] == "console")
    #expect(reply.json["id"] == own["id"])
    let listed = try origin.api("GET", "tokens?kind=session").json["tokens"]?.array
    #expect(listed?.count == 1 && listed?.first?["subject"] == own["subject"])
    let created = try origin.api("GET", "audit?act=session.create").json["rows"]?.array
    #expect(created?.count == 1 && created?.first?["author"] == "ci")
  }

  @Test func isForTheConsoleOverHTTPSOnly() throws {
    let origin = try TestOrigin()
    func code(_ lines: [String]) throws -> String? {
      let reply = try begin(origin.token, origin, lines)
      #expect(reply.status == 200 || reply.field("Set-Cookie") == nil)
      return reply.status == 200 ? nil : reply.json["code"]?.string
    }
    for place in [
      "https://xcache.example.com", "http://localhost:8080", "http://127.0.0.1", "http://[::1]:80",
    ] {
      #expect(try code(["Xcache-Console: 1", "Origin: \(place)"]) == nil, "\(place)")
    }
    for place in [
      "http://xcache.example.com", "http://10.0.0.7:8080", "http://localhost.example.com", "null", "http://",
      "ftp://localhost",
    ] {
      #expect(try code(["Xcache-Console: 1", "Origin: \(place)"]) == "insecure", "\(place)")
    }
    // Without the field, only the same machine counts.
    #expect(try code(["Xcache-Console: 1"]) == "insecure")
    #expect(try code(["Origin: https://xcache.example.com"]) == "not-the-console")
    #expect(
      try code(["Xcache-Console: 1", "Origin: https://xcache.example.com", "Sec-Fetch-Site: cross-site"])
        == "not-the-console")
    let bare = try origin.ask("POST", "/auth/session", Self.console)
    #expect(bare.status == 401 && bare.json["code"] == "token")
  }

  @Test func wrongTokensAreSlowedDown() throws {
    let origin = try TestOrigin()
    var codes: [Int] = []
    for _ in 0..<13 { codes.append(try begin("xcache_000000000000_x", origin).status) }
    #expect(codes.first == 401 && codes.last == 429)
    #expect(try begin(origin.token, origin).status == 200, "a valid one is taken all the same")
  }

  @Test func sessionsAndJobsBeginNone() throws {
    let provider = TestProvider()
    let origin = try TestOrigin.signingIn(provider)
    let person = try #require(try origin.signedIn(provider).cookies["__Host-xcache"])
    let refused = try begin(person, origin)
    #expect(refused.status == 409 && refused.json["code"] == "not-a-token")
    // Nor one of the token's own sessions, from the cookie alone.
    let browser = try signedIn(origin.token, origin)
    #expect(try browser.call("POST", "/auth/session", nil, origin).status == 401)
  }

  @Test func endsWithTheToken() throws {
    let now = Locked(Clock.unixMilliseconds())
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    let revoked = try makeToken(origin, ["name": "a", "scope": "read"])
    let browsers = try (0..<2).map { _ in try signedIn(revoked.text, origin) }
    let short = try makeToken(origin, ["expiresIn": 600, "name": "b", "scope": "read"])
    let reply = try begin(short.text, origin)
    #expect(reply.field("Set-Cookie")?.contains("; Max-Age=600;") == true)
    for browser in browsers { #expect(try browser.call("GET", "token", nil, origin).status == 200) }
    #expect(try origin.api("DELETE", "tokens/a").json["id"] == .string(revoked.id))
    for browser in browsers { #expect(try browser.call("GET", "token", nil, origin).status == 401) }
    let rows = try origin.api("GET", "audit?act=token.revoke").json["rows"]?.array
    #expect(rows?.count == 3, "the token and its two sessions")
    let shortBrowser = try browser(reply)
    #expect(try shortBrowser.call("GET", "token", nil, origin).status == 200)
    now.withLock { $0 += 600_001 }
    #expect(try shortBrowser.call("GET", "token", nil, origin).status == 401)
    let long = try signedIn(origin.token, origin)
    now.withLock { $0 += 12 * 3_600_000 + 1 }
    #expect(try long.call("GET", "token", nil, origin).status == 401)
  }

  @Test func logoutEndsTheSessionOnly() throws {
    let origin = try TestOrigin()
    let (one, two) = (try signedIn(origin.token, origin), try signedIn(origin.token, origin))
    #expect(try one.call("GET", "sessions", nil, origin).json["sessions"]?.array?.count == 2)
    let reply = try one.call("POST", "/auth/logout", nil, origin)
    #expect(reply.status == 204 && reply.field("Set-Cookie")?.contains("Max-Age=0") == true)
    #expect(try one.call("GET", "token", nil, origin).status == 401)
    #expect(try two.call("GET", "token", nil, origin).status == 200)
    #expect(try origin.api("GET", "token").status == 200)
  }

  /// Whoever has a token could otherwise approve by its session what they asked for by the token.
  @Test func nobodyApprovesTheirOwnActThroughASession() throws {
    let site = try ProtectedOrigin()
    let id = try site.publish("two")
    let session = try #require(try signedIn(site.author, site.origin).cookies["__Host-xcache"])
    let refused = try site.approve(id, session)
    #expect(refused.status == 403 && refused.json["code"]?.string == "own-act", "\(refused.text)")
    // And the other way round.
    let reply = try site.origin.api(
      "POST", "\(ProtectedOrigin.online)/releases", site.origin.release(["a.js": "three"]), token: session)
    let asked = try #require(reply.json["scheduled"]?["id"]?.integer)
    #expect(try site.approve(asked, site.author).json["code"]?.string == "own-act")
    #expect(try site.approve(asked, session).json["code"]?.string == "own-act")
    // What it asked for is the token's: it outlives the session.
    let browser = try browser(begin(site.author, site.origin))
    _ = try browser.call("POST", "/auth/logout", nil, site.origin)
    #expect(try site.approve(asked, site.signIn("ana")).status == 200)
    site.run()
    #expect(try site.version == "2")
  }

  /// A person's name on a token is the person, as for the token itself.
  @Test func aSessionOfATokenOfOnesNameIsOneself() throws {
    let site = try ProtectedOrigin()
    let ana = try site.signIn("ana", .publish)
    let body = try site.origin.release(["a.js": "two"])
    let id = try site.ask("releases", body, token: ana)
    let token = try makeToken(site.origin, ["name": "ana@acme.com", "scope": "release"])
    let session = try #require(try signedIn(token.text, site.origin).cookies["__Host-xcache"])
    #expect(try site.approve(id, session).json["code"]?.string == "own-act")
  }

  @Test func allowsNoCommandLineAndDoesNotRevokeItself() throws {
    let provider = TestProvider()
    let origin = try TestOrigin.signingIn(provider)
    let browser = try signedIn(origin.token, origin)
    let pending = try origin.ask(
      "POST", "/auth/device", ["Content-Type: application/json"], body: Array("{}".utf8))
    let code = try #require(pending.json["userCode"]?.string)
    let allowed = try browser.call("POST", "signins/\(code)", ["allow": true], origin)
    #expect(allowed.status == 403 && allowed.json["code"] == "no-session", "\(allowed.text)")
    let subject = try browser.call("GET", "token", nil, origin).json["subject"]?.string ?? ""
    let own = try browser.call("DELETE", "tokens/\(subject.dropFirst("token:".count))", nil, origin)
    #expect(own.status == 409 && own.json["code"] == "own-token")
  }
}
