import Identity
import Linux
import Origin
import Testing

@testable import xcache

/// `serve --oidc-issuer`: half a configuration is refused in words, and the secret stays out of them.
@Suite struct ServeSignInTests {
  private static let whole = [
    "--oidc-issuer", "https://id.acme.com", "--oidc-client", "xcache", "--role", "admin=email:ana@acme.com@*",
  ]

  private static func options(
    _ words: [String], _ environment: [String: String] = [:], listen: String = "127.0.0.1:8080"
  ) throws -> SignInOptions? {
    let address = try #require(SocketAddress(listen))
    return try ServeSignIn.options(
      Arguments(words, options: ServeCommand.command.options, environment: environment), address, nil)
  }

  private static func message(
    _ words: [String], _ environment: [String: String] = [:], listen: String = "127.0.0.1:8080"
  ) -> String {
    let error = #expect(throws: UsageError.self) { try options(words, environment, listen: listen) }
    return error?.message ?? ""
  }

  @Test func defaults() throws {
    #expect(try Self.options([]) == nil)
    let options = try #require(try Self.options(Self.whole))
    #expect(options.redirectURI == "http://127.0.0.1:8080/auth/callback")
    #expect(options.scopes == "openid profile email" && options.sessionTime == 43_200)
    #expect(options.roles.count == 1 && options.nameClaim == nil)
    let given = try #require(
      try Self.options(
        Self.whole + [
          "--console-url", "https://x.example.com:8443/console", "--oidc-scopes", "openid groups",
          "--oidc-name",
          "name", "--session-time", "8h", "--role", "read=groups:all",
        ], ["XCACHE_OIDC_SECRET": "hush"], listen: "0.0.0.0:80"))
    #expect(given.redirectURI == "https://x.example.com:8443/auth/callback")
    #expect(given.scopes == "openid groups" && given.nameClaim == "name" && given.sessionTime == 28_800)
    #expect(given.roles.map(\.text) == ["admin=email:ana@acme.com@*", "read=groups:all"])
  }

  @Test func rulesInTheVariableAreOneALine() throws {
    let options = try Self.options(
      ["--oidc-issuer", "https://id.acme.com", "--oidc-client", "xcache"],
      ["XCACHE_ROLE": "release=groups:mobile team@shop\n\n  read=groups:a,b\n"])
    #expect(options?.roles.map(\.value) == ["mobile team", "a,b"])
  }

  @Test func halfAConfigurationIsRefused() {
    #expect(Self.message(["--oidc-issuer", "https://id.acme.com"]).contains("--oidc-client"))
    #expect(
      Self.message(["--oidc-issuer", "https://id.acme.com", "--oidc-client", "x"]).contains("--role"))
    #expect(Self.message(Self.whole, listen: "0.0.0.0:80").contains("--console-url"))
    for option in ["oidc-client", "oidc-scopes", "oidc-name", "role", "session-time"] {
      #expect(Self.message(["--\(option)", "x"]).contains("--oidc-issuer"), "\(option)")
    }
    #expect(Self.message([], ["XCACHE_OIDC_SECRET": "hush"]).contains("--oidc-issuer"))
    #expect(Self.message([], ["XCACHE_ROLE": "read=a:b"]).contains("XCACHE_ROLE needs"))
  }

  @Test func wrongValues() {
    for (words, part) in [
      (["--console-url", "http://x.example.com/console"], "https://"),
      (["--oidc-scopes", "profile"], "openid"),
      (["--session-time", "13h"], "12h"), (["--session-time", "4m"], "5m"), (["--session-time", "x"], "12h"),
      (["--role", "boss=groups:x"], "boss"),
    ] {
      #expect(Self.message(Self.whole + words).contains(part), "\(words)")
    }
    let http = ["--oidc-issuer", "http://id.acme.com", "--oidc-client", "x", "--role", "read=a:b"]
    #expect(Self.message(http).contains("https"))
  }

  @Test func theSecretStaysSecret() {
    let both = ["XCACHE_OIDC_SECRET": "hush", "XCACHE_OIDC_SECRET_FILE": "/nowhere"]
    #expect(Self.message(Self.whole, both).contains("not both"))
    let lines = Self.message(Self.whole, ["XCACHE_OIDC_SECRET": "hush\nhush"])
    #expect(lines.contains("XCACHE_OIDC_SECRET") && !lines.contains("hush"))
  }
}
