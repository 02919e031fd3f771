import HTTP
import Identity
import Store
import System
import Testing
import Values

@testable import Origin

/// A person's way through the provider and back, and everything that is refused on it.
@Suite struct SignInTests {
  private let provider = TestProvider()

  @Test func signsIn() throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let login = try browser.open("/auth/login?return=%23/apps/shop", origin)
    #expect(login.status == 302)
    let query = TestProvider.query(login.field("Location") ?? "")
    #expect(login.field("Location")?.hasPrefix("https://id.acme.com/authorize?") == true)
    #expect(query["response_type"] == "code" && query["client_id"] == "xcache")
    #expect(query["code_challenge_method"] == "S256" && query["code_challenge"]?.utf8.count == 43)
    #expect(query["redirect_uri"]?.contains("xcache.example.com") == true)
    #expect(query["prompt"] == nil)
    let loginCookie = try #require(login.field("Set-Cookie"))
    #expect(loginCookie.hasPrefix("__Host-xcache-login="))
    #expect(loginCookie.hasSuffix("; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax"))

    let back = try browser.open(provider.authorize(login.field("Location") ?? ""), origin)
    #expect(back.status == 303)
    #expect(back.field("Location") == "/console/#/apps/shop")
    let session = try #require(back.field("Set-Cookie"))
    #expect(session.hasPrefix("__Host-xcache=xcache_"))
    #expect(session.hasSuffix("; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict"))
    for reply in [login, back] {
      #expect(reply.field("Cache-Control") == "no-store" && reply.field("Referrer-Policy") == "no-referrer")
    }
    let form = try #require(provider.state.withLock { $0.redeemed.first })
    #expect(form.contains("code_verifier=") && form.contains("grant_type=authorization_code"))

    let token = try browser.call("GET", "token", nil, origin).json
    #expect(token["kind"] == "session" && token["name"] == "ana@acme.com" && token["scope"] == "release")
    #expect(token["issuer"] == .string(TestProvider.issuer) && token["subject"] == "ana")
    #expect(token["app"] == "shop" && token["detail"] == "console")
    #expect(try origin.ask("GET", "/metrics").text.contains("xcache_sign_ins_total{outcome=\"ok\"} 1"))
  }

  @Test func everySignInIsANewSession() throws {
    let origin = try TestOrigin.signingIn(provider)
    let first = try origin.signedIn(provider, code: "c1")
    // The same browser again: what was in its cookie is not what it gets.
    var again = first
    let login = try again.open("/auth/login", origin)
    _ = try again.open(provider.authorize(login.field("Location") ?? "", code: "c2"), origin)
    #expect(first.cookies["__Host-xcache"] != again.cookies["__Host-xcache"])
    #expect(try again.call("GET", "sessions", nil, origin).json["sessions"]?.array?.count == 2)
  }

  @Test func twoTabsSignInAtOnce() throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let one = try browser.open("/auth/login?return=%23/one", origin).field("Location") ?? ""
    let two = try browser.open("/auth/login?return=%23/two", origin).field("Location") ?? ""
    #expect(
      try browser.open(provider.authorize(two, code: "c2"), origin).field("Location") == "/console/#/two")
    #expect(
      try browser.open(provider.authorize(one, code: "c1"), origin).field("Location") == "/console/#/one")
  }

  // MARK: - Refused answers

  /// Whoever makes somebody open the answer to their own sign-in would have them work in the wrong account.
  @Test func answersCountOnlyInTheBrowserThatBegan() throws {
    let origin = try TestOrigin.signingIn(provider)
    var attacker = TestBrowser()
    let target = provider.authorize(try attacker.open("/auth/login", origin).field("Location") ?? "")
    var victim = TestBrowser()
    #expect(try victim.open(target, origin).status == 400)
    _ = try victim.open("/auth/login", origin)
    let refused = try victim.open(target, origin)
    #expect(refused.status == 400 && refused.text.contains("begun in this browser"))
    #expect(victim.cookies["__Host-xcache"] == nil)
    #expect(provider.state.withLock { $0.redeemed.isEmpty })
  }

  @Test(arguments: ["", "&state=", "&state=00", "&state=zz", "&state=\(String(repeating: "0", count: 4000))"])
  func otherStatesAreRefused(_ state: String) throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    _ = try browser.open("/auth/login", origin)
    #expect(try browser.open("/auth/callback?code=c0de\(state)", origin).status == 400)
    #expect(provider.state.withLock { $0.redeemed.isEmpty })
  }

  @Test func aStateWithAChangedEndIsRefused() throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let target = provider.authorize(try browser.open("/auth/login", origin).field("Location") ?? "")
    // As if the fragment to return to were another one.
    #expect(try browser.open(target + "2f", origin).status == 400)
    #expect(try browser.open(target + "&state=0", origin).status == 400)
    #expect(try browser.open(target, origin).status == 303)
  }

  @Test func lateAnswersAreRefused() throws {
    let now = Locked(Clock.unixMilliseconds())
    let clock: @Sendable () -> Int64 = { now.withLock { $0 } }
    let provider = TestProvider(clock: clock)
    let origin = try TestOrigin.signingIn(provider, clock: clock)
    var browser = TestBrowser()
    let target = provider.authorize(try browser.open("/auth/login", origin).field("Location") ?? "")
    now.withLock { $0 += 601_000 }
    let late = try browser.open(target, origin)
    #expect(late.status == 400 && late.text.contains("ten minutes"))
  }

  @Test func anAnswerThatIsOpenedAgainRedeemsNothing() throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let target = provider.authorize(try browser.open("/auth/login", origin).field("Location") ?? "")
    #expect(try origin.ask("HEAD", target, [browser.cookie]).status == 200)
    #expect(provider.state.withLock { $0.redeemed.isEmpty })
    _ = try browser.open(target, origin)
    let again = try browser.open(target, origin)
    #expect(again.status == 409 && again.text.contains("/console/"))
    #expect(provider.state.withLock { $0.redeemed.count } == 1)
    #expect(try browser.call("GET", "token", nil, origin).status == 200)
  }

  /// RFC 9207: the answer of another provider.
  @Test func theAnswersIssuerHasToBeTheProvider() throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let location = try browser.open("/auth/login", origin).field("Location") ?? ""
    let other = provider.authorize(location, more: "&iss=https://evil.example.com")
    #expect(try browser.open(other, origin).status == 403)
    #expect(provider.state.withLock { $0.redeemed.isEmpty })
  }

  @Test(
    arguments: [
      ["nonce": "other"], ["aud": "other-client"], ["iss": "https://evil.example.com"], ["exp": 1000],
      ["iat": 99_999_999_999], ["sub": .null],
    ] as [JSONValue])
  func tokensThatArentForThisSignInAreRefused(_ changes: JSONValue) throws {
    provider.state.withLock { $0.changes = changes }
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let target = provider.authorize(try browser.open("/auth/login", origin).field("Location") ?? "")
    let refused = try browser.open(target, origin)
    #expect(refused.status == 403, "\(changes)")
    #expect(browser.cookies["__Host-xcache"] == nil)
  }

  @Test func thoseWithoutARoleAreToldSo() throws {
    provider.state.withLock { $0.claims = ["email": "<b>bo@acme.com", "groups": ["sales"], "sub": "bo"] }
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let target = provider.authorize(try browser.open("/auth/login", origin).field("Location") ?? "")
    let refused = try browser.open(target, origin)
    #expect(refused.status == 403 && refused.text.contains("&lt;b&gt;bo@acme.com"))
    #expect(!refused.text.contains("<b>") && !refused.text.contains("It sent nothing"))
    #expect(
      refused.field("Content-Security-Policy")?.hasPrefix("default-src 'none'; style-src 'self';") == true)
    #expect(try origin.ask("GET", "/metrics").text.contains("xcache_sign_ins_total{outcome=\"no-role\"} 1"))
    #expect(try origin.store.tokens().allSatisfy { $0.kind == .token })
  }

  /// What can't be seen would make one person's name look like another's, and an address that isn't verified is anybody's.
  @Test(
    arguments: [
      (["preferred_username": "a\u{200B}n\u{2060}a"], "ana"),
      (["preferred_username": " ana\n\u{A0} bo "], "ana bo"),
      (["preferred_username": "an\u{202E}a"], "an\u{FFFD}a"),
      (["preferred_username": " \u{3164}\u{E0041} "], "u-1"),
      (["email": "boss@acme.com", "email_verified": false], "u-1"),
      (["email": "ana@acme.com", "email_verified": true], "ana@acme.com"),
    ] as [(JSONValue, String)])
  func namesAreWhatOneSees(_ claims: JSONValue, _ name: String) throws {
    var person = try #require(claims.object)
    person["groups"] = ["mobile-team"]
    person["sub"] = "u-1"
    let all = JSONValue.object(person)
    provider.state.withLock { $0.claims = all }
    let origin = try TestOrigin.signingIn(provider)
    #expect(try origin.signedIn(provider).call("GET", "token", nil, origin).json["name"] == .string(name))
  }

  @Test func anAddressThatIsntVerifiedIsNoNameEvenIfAskedFor() throws {
    provider.state.withLock {
      $0.claims = [
        "email": "boss@acme.com", "email_verified": false, "groups": ["mobile-team"], "sub": "u-1",
      ]
    }
    let origin = try TestOrigin.signingIn(provider, { $0.signIn?.nameClaim = "email" })
    #expect(try origin.signedIn(provider).call("GET", "token", nil, origin).json["name"] == "u-1")
  }

  @Test func aClaimThatRolesGoByAndNobodySentIsNamed() throws {
    provider.state.withLock { $0.claims = ["email": "bo@acme.com", "groups": .array([]), "sub": "bo"] }
    let origin = try TestOrigin.signingIn(
      provider, roles: ["read=groups:all", "release=email:ana@acme.com@shop"])
    var browser = TestBrowser()
    let target = provider.authorize(try browser.open("/auth/login", origin).field("Location") ?? "")
    let refused = try browser.open(target, origin)
    #expect(
      refused.text.contains("It sent nothing in the claim groups, which roles here go by."), "\(refused.text)"
    )
  }

  @Test func theProvidersErrorsAreWords() throws {
    let origin = try TestOrigin.signingIn(provider)
    for (error, words) in [("access_denied", "declined"), ("%3Cscript%3E", "&lt;script&gt;")] {
      var browser = TestBrowser()
      let location = try browser.open("/auth/login", origin).field("Location") ?? ""
      let state = TestProvider.query(location)["state"] ?? ""
      let page = try browser.open("/auth/callback?error=\(error)&state=\(state)", origin)
      #expect(page.status == 403 && page.text.contains(words) && !page.text.contains("<script"))
    }
  }

  // MARK: - Where it leads

  @Test(
    arguments: [
      "https://evil.example.com", "//evil.example.com", "%23", "%2523/x", "/%23/x", "%5Cevil", "javascript:1",
      "%23/a%0D%0AX:1", "%23/%00", "%23/\(String(repeating: "a", count: 1100))", "%20%23/x",
    ])
  func nothingButAPlaceInTheConsoleIsReturnedTo(_ text: String) throws {
    let origin = try TestOrigin.signingIn(provider)
    var browser = TestBrowser()
    let login = try browser.open("/auth/login?return=\(text)", origin)
    let back = try browser.open(provider.authorize(login.field("Location") ?? ""), origin)
    #expect(back.status == 303 && back.field("Location") == "/console/")
  }

  @Test func placesKeepTheirEscapes() {
    #expect(ConsoleFragment.checked("#/apps/shop?q=a%2Fb") == "#/apps/shop?q=a%2Fb")
    #expect(ConsoleFragment.checked("#/\u{E4} \"<") == "#/%C3%A4%20%22%3C")
    #expect(ConsoleFragment.checked("#/" + String(repeating: "\u{E4}", count: 400)) == "")
    #expect(ConsoleFragment.checked(nil) == "" && ConsoleFragment.checked("#x") == "")
  }

  @Test func onlySilentSignInIsPassedOn() throws {
    let origin = try TestOrigin.signingIn(provider)
    for (given, sent) in [("none", "none"), ("login", nil), ("consent", nil)] as [(String, String?)] {
      let login = try origin.ask("GET", "/auth/login?prompt=\(given)")
      #expect(TestProvider.query(login.field("Location") ?? "")["prompt"] == sent)
    }
  }

  // MARK: - The provider is down

  @Test func tokensNeedNoProvider() throws {
    let origin = try TestOrigin.signingIn(provider)
    try origin.publish(["a.html": "a"])
    provider.state.withLock { $0.isDown = true }
    let login = try origin.ask("GET", "/auth/login")
    #expect(login.status == 503 && login.text.contains("token"))
    #expect(login.field("Set-Cookie") == nil)
    #expect(try origin.ask("GET", "/auth/").status == 200)
    #expect(try origin.api("GET", "token").status == 200)
    #expect(try origin.lane("GET", "/auth/login") == .signIn)
    #expect(try origin.lane("POST", "/auth/trade", length: 100) == .trade)
    #expect(try origin.lane("POST", "/auth/logout") == .open)
    #expect(try origin.lane("POST", "/api/v1/apps/shop/channels/online/policy", length: 10) == .urgent)
  }

  @Test func withoutAProviderThereAreWords() throws {
    let origin = try TestOrigin()
    #expect(try origin.ask("GET", "/auth/").json == ["sso": .null])
    for path in ["/auth/login", "/auth/callback?code=1&state=1"] {
      let page = try origin.ask("GET", path)
      #expect(page.status == 404 && page.text.contains("--oidc-issuer"))
    }
    let device = try origin.ask(
      "POST", "/auth/device", ["Content-Type: application/json"], body: Array("{}".utf8))
    #expect(device.status == 404 && device.json["code"] == "no-sso")
  }
}
