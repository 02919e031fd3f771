import HTTP
import System
import Values

/// A cookie of a request (RFC 6265bis), by its exact name.
enum RequestCookies {
  /// Returns a cookie's value; nil if it isn't sent, if it is sent more than once, since then nobody knows whose it is, or if its
  /// value has other characters than `A-Z a-z 0-9 - . _ ~`, which no cookie of ours has: not even quotes.
  static func value(of name: StaticString, in request: borrowing Request) -> String? {
    var lines = request.fieldLines
    var found: String?
    while let line = lines.next(named: RawSpan("cookie")) {
      var start = 0
      while start < line.byteCount {
        let end = line.firstIndex(of: UInt8(ascii: ";"), from: start) ?? line.byteCount
        let pair = line.extracting(start..<end).trimmed
        start = end + 1
        guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
          pair.extracting(0..<equals).trimmed.equals(name)
        else { continue }
        guard found == nil else { return nil }
        let value = pair.extracting(min(equals + 1, pair.byteCount)..<pair.byteCount).trimmed
        guard (1...longest).contains(value.byteCount), value.isUnreserved else { return nil }
        found = value.text
      }
    }
    return found
  }

  /// Bytes.
  private static let longest = 256
}

/// The cookie that says who is signed in to the console. The prefix `__Host-` has browsers refuse it from any other host, subdomains
/// included, and from plain http; `SameSite=Strict` has them send it with no request that another site makes; scripts can't read it.
enum SessionCookie {
  static let name: StaticString = "__Host-xcache"

  /// Returns the token in a request's cookie; nil unless the console's own script sent the request.
  ///
  /// A form or a link of another site can't add a field, and a script of another site would have to ask first (CORS), which the origin
  /// never allows. Browsers also say where a request comes from (`Sec-Fetch-Site`).
  static func token(in request: borrowing Request) -> String? {
    isForConsole(request) ? RequestCookies.value(of: name, in: request) : nil
  }

  /// Whether the console's own script sent a request.
  static func isForConsole(_ request: borrowing Request) -> Bool {
    guard request.field(named: "xcache-console")?.equals("1") ?? false else { return false }
    if let site = request.field(named: "sec-fetch-site"), !site.equals("same-origin") { return false }
    return true
  }

  /// The field that sets it.
  /// - Parameter seconds: how long the browser keeps it.
  static func setting(_ token: String, for seconds: Int64) -> String {
    "\(name)=\(token); Path=/; Max-Age=\(max(0, seconds)); HttpOnly; Secure; SameSite=Strict"
  }

  /// The field that deletes it.
  static let deleting = "\(name)=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict"
}

/// The cookie that ties sign-ins to the browser that began them: a random key, the same for all of its tabs. `SameSite=Lax`, since the
/// provider's redirect has to bring it.
enum LoginCookie {
  static let name: StaticString = "__Host-xcache-login"

  /// Seconds: how long a person may take at the provider.
  static let lifetime: Int64 = 600

  /// Returns the browser's key: 32 bytes.
  static func key(in request: borrowing Request) -> [UInt8]? {
    RequestCookies.value(of: name, in: request).flatMap { Hex.decode($0, count: LoginState.browserKeyCount) }
  }

  /// The field that sets it.
  static func setting(_ key: [UInt8]) -> String {
    "\(name)=\(Hex.encode(key.span.bytes)); Path=/; Max-Age=\(lifetime); HttpOnly; Secure; SameSite=Lax"
  }
}

extension RawSpan {
  /// Whether every byte is a letter, a digit or one of `-._~` (RFC 3986 §2.3).
  fileprivate var isUnreserved: Bool { byteOffsets.allSatisfy { ASCII.isUnreserved(self[$0]) } }
}
