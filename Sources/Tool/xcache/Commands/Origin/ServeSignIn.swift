import HTTP
import Identity
import Linux
import Origin
import System
import TLS
import Values

/// The options of `serve` for people who sign in with an OpenID Connect provider.
enum ServeSignIn {
  static let options: [Option] = [
    .value(
      "oidc-issuer", "URL",
      "let people sign in with this OpenID Connect provider: its issuer, exactly as the provider writes it (default: off)"
    ),
    .value("oidc-client", "ID", "with --oidc-issuer: the id of this origin's client at the provider"),
    .value(
      "oidc-scopes", "SCOPES",
      "with --oidc-issuer: what the provider is asked for, openid among it (default: \"openid profile email\")"
    ),
    .value(
      "oidc-name", "CLAIM",
      "with --oidc-issuer: the claim with a person's name (default: email if it is verified, else preferred_username, "
        + "else sub)"),
    .value(
      "role", "RULE",
      "with --oidc-issuer: who may do what: SCOPE=CLAIM:VALUE[@APP[/CHANNEL][:BUNDLES]], such as "
        + "release=groups:mobile-team@shop or admin=email:ana@acme.com@*; repeatable, in the variable one a line"
    ),
    .value(
      "session-time", "TIME",
      "with --oidc-issuer: how long one stays signed in, 5m to 12h (default: 12h)"),
  ]

  static let secretVariable = "XCACHE_OIDC_SECRET"
  /// The largest secret, in bytes.
  private static let limit = 4096
  private static let secondsRange: ClosedRange<Int> = 300...(12 * 3600)

  /// Returns how people sign in, or nil if they only use tokens. The provider isn't asked anything: that it is down keeps no origin from
  /// starting.
  /// - Parameter address: where the server listens, for the console's URL where none is given.
  /// - Throws: `UsageError` if options are missing or wrong, without what is secret.
  static func options(_ arguments: Arguments, _ address: SocketAddress, _ tls: TLSAcceptor?) throws
    -> SignInOptions?
  {
    guard let text = try arguments.value("oidc-issuer") else {
      try refuseOthers(arguments)
      return nil
    }
    let issuer = try issuer(text, in: arguments.source("oidc-issuer"))
    guard let client = try arguments.value("oidc-client"), !client.isEmpty else {
      throw UsageError(
        "\(arguments.source("oidc-issuer")) needs --oidc-client ID: the id of this origin's client at \(issuer.host)"
      )
    }
    let roles = try roles(arguments)
    guard !roles.isEmpty else {
      throw UsageError(
        "\(arguments.source("oidc-issuer")) needs --role RULE, such as --role 'admin=email:ana@acme.com@*': without one, "
          + "nobody who signs in may do anything")
    }
    let provider = IdentityProvider(issuer, client: .init(id: client, secret: try secret(arguments)))
    var options = SignInOptions(
      provider: provider, roles: roles, origin: try origin(arguments, address, tls))
    options.scopes = try scopes(arguments) ?? options.scopes
    options.nameClaim = try arguments.value("oidc-name")
    options.sessionTime = try sessionTime(arguments) ?? options.sessionTime
    return options
  }

  /// Returns the scheme, host and port at which browsers reach the console, which is the only one that the provider sends them to.
  /// - Parameter address: where the server listens; after it does, with the port that the kernel chose.
  static func origin(_ arguments: Arguments, _ address: SocketAddress, _ tls: TLSAcceptor?) throws -> String {
    guard let text = try arguments.value("console-url") else {
      guard IPAddress("\(address.host)")?.isLoopback ?? false else {
        throw UsageError(
          "\(arguments.source("oidc-issuer")) needs --console-url URL: the console as browsers reach it, to which the provider "
            + "sends them back, such as https://xcache.example.com/console")
      }
      return "\(ServeTLS.scheme(tls))://\(ServeTLS.host(of: address, tls))"
    }
    let place = arguments.source("console-url")
    let base = try SettingsValue.url(text, in: place)
    let url: ResourceURL
    do { url = try ResourceURL(base.text) } catch { throw UsageError("\(place) \(error)") }
    guard url.scheme == "https" || isLoopback(String(url.host)) else {
      throw UsageError(
        "\(place) must begin with https:// where people sign in: over http, others on the way could take their sessions (http is "
          + "possible on this machine alone, such as http://127.0.0.1:8080/console)")
    }
    return "\(url.scheme)://\(url.authority)"
  }

  /// The scheme, host and port of `--console-url`; nil without it.
  static func consoleOrigin(_ arguments: Arguments) throws -> String? {
    guard let text = try arguments.value("console-url") else { return nil }
    let place = arguments.source("console-url")
    let base = try SettingsValue.url(text, in: place)
    do {
      let url = try ResourceURL(base.text)
      return "\(url.scheme)://\(url.authority)"
    } catch {
      throw UsageError("\(place) \(error)")
    }
  }

  /// The line that the log begins with.
  static func message(_ options: SignInOptions) -> String {
    "people sign in with \(options.provider.issuer): \(Count.text(options.roles.count, "role")), redirect URI "
      + "\(options.redirectURI)"
  }

  private static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    return IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)?.isLoopback ?? false
  }

  /// Refuses options that do nothing without a provider.
  private static func refuseOthers(_ arguments: Arguments) throws {
    for option in options where option.name != "oidc-issuer" {
      guard try !arguments.all(option.name).isEmpty || arguments.value(option.name) != nil else { continue }
      throw UsageError(
        "\(arguments.source(option.name)) needs --oidc-issuer URL, the provider that people sign in with")
    }
    for variable in [secretVariable, secretVariable + "_FILE"]
    where !(arguments.environment[variable] ?? "").isEmpty {
      throw UsageError("\(variable) needs --oidc-issuer URL and --oidc-client ID")
    }
  }

  private static func issuer(_ text: String, in place: String) throws(UsageError) -> IssuerURL {
    do {
      return try IssuerURL(text)
    } catch {
      throw UsageError("\(place): \(error.message)")
    }
  }

  /// Returns the rules, in their order.
  private static func roles(_ arguments: Arguments) throws -> [RoleRule] {
    let given = arguments.all("role")
    // A claim's value may have spaces and commas.
    let texts =
      try given.isEmpty
      ? (arguments.value("role") ?? "").split(whereSeparator: \.isNewline).map(HTTPField.trimmed) : given
    return try texts.filter { !$0.isEmpty }.map { text throws(UsageError) in
      do throws(RoleRuleError) {
        return try RoleRule(text)
      } catch {
        throw UsageError("\(arguments.source("role")): \(error.message)")
      }
    }
  }

  private static func scopes(_ arguments: Arguments) throws -> String? {
    guard let text = try arguments.value("oidc-scopes") else { return nil }
    let scopes = text.split { $0 == " " || $0 == "," }.map(String.init)
    // RFC 6749 §3.3.
    let areValid = scopes.allSatisfy {
      $0.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
    guard areValid, scopes.contains("openid"), text.utf8.count <= 1024 else {
      throw UsageError(
        "\(arguments.source("oidc-scopes")) \(text.debugDescription) must have openid in it, as in \"openid profile email groups\""
      )
    }
    return scopes.joined(separator: " ")
  }

  private static func sessionTime(_ arguments: Arguments) throws -> Int64? {
    guard let text = try arguments.value("session-time") else { return nil }
    guard let seconds = Arguments.seconds(of: text, in: "smhd"), secondsRange.contains(Int(seconds)) else {
      throw UsageError(
        "\(arguments.source("session-time")) \(text) is not a time from 5m to 12h, such as 8h")
    }
    return Int64(seconds)
  }

  /// Returns the client's secret from its variable, or the file that the variable with `_FILE` names; nil for a public client.
  private static func secret(_ arguments: Arguments) throws -> String? {
    func value(_ name: String) -> String? { arguments.environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    switch (value(secretVariable), value(secretVariable + "_FILE")) {
    case (_?, _?): throw UsageError("set either \(secretVariable) or \(secretVariable)_FILE, not both")
    case (let text?, nil): return try checked(text, in: secretVariable)
    case (nil, let path?):
      let bytes: [UInt8]
      do { bytes = try Arguments.file(path, limit: limit) } catch {
        let fault = Fault(error)
        throw Failure("\(secretVariable)_FILE: \(fault.message)", code: fault.exitCode, name: fault.name)
      }
      // Only a warning: a container's secrets are mounted that way, in a protected folder.
      if let mode = try Kernel.status(path)?.mode, mode & 0o007 != 0 {
        arguments.remark(
          "warning: other users of this machine can read the client's secret in \(path): run chmod o= \(path)"
        )
      }
      return try checked(String(decoding: bytes, as: UTF8.self), in: "\(secretVariable)_FILE: \(path)")
    case (nil, nil): return nil
    }
  }

  private static func checked(_ text: String, in place: String) throws(UsageError) -> String {
    // A file ends with a line break; a secret doesn't.
    let secret = String(text.reversed().drop { $0.isNewline }.reversed())
    guard (1...limit).contains(secret.utf8.count), secret.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else {
      throw UsageError("\(place) doesn't contain a client secret: one line of visible ASCII characters")
    }
    return secret
  }
}
