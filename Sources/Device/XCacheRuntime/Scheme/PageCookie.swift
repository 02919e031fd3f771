import HTTP
import System
import Values

/// One of an engine's cookies, and where it is sent (RFC 6265).
public struct PageCookie: Hashable, Sendable {
  /// The cookie's name.
  public var name: String
  /// The cookie's value.
  public var value: String
  /// The host it belongs to; a leading dot means that it also applies to subdomains.
  public var domain: String
  /// The path that it applies to, and everything below it.
  public var path: String
  /// Whether it is hidden from scripts.
  public var isHTTPOnly: Bool
  /// Whether it is only sent over https.
  public var isSecure: Bool

  /// Creates a cookie with the engine's values.
  public init(
    name: String, value: String, domain: String, path: String, isHTTPOnly: Bool = false,
    isSecure: Bool = false
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.path = path
    self.isHTTPOnly = isHTTPOnly
    self.isSecure = isSecure
  }

  /// Whether a request to `url` carries it (§5.4).
  public func isSent(to url: String) -> Bool {
    guard let url = try? ResourceURL(url) else { return false }
    return isSent(to: url)
  }

  func isSent(to url: ResourceURL) -> Bool {
    Self.matches(String(url.host), domain) && Self.matchesPath(path, at: String(url.path))
      && (!isSecure || url.scheme == "https")
  }

  /// Returns the `Cookie` header for a request to `url`, with longer paths first (§5.4); nil if none of `cookies` is sent.
  public static func header(_ cookies: [PageCookie], for url: String) -> String? {
    let sent = cookies.filter { $0.isSent(to: url) }.enumerated()
      .sorted { ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset) }
      .map { "\($0.element.name)=\($0.element.value)" }
    return sent.isEmpty ? nil : sent.joined(separator: "; ")
  }

  /// Domain matching (§5.1.3); a domain without a leading dot matches one host only.
  static func matches(_ host: String, _ domain: String) -> Bool {
    let (host, domain) = (host.lowercased(), domain.lowercased())
    guard domain.hasPrefix(".") else { return host == domain }
    return host == domain.dropFirst() || host.hasSuffix(domain)
  }

  /// Path matching (§5.1.4).
  static func matchesPath(_ path: String, at requested: String) -> Bool {
    guard requested.hasPrefix(path) else { return path.isEmpty }
    return requested == path || path.hasSuffix("/") || requested.dropFirst(path.count).hasPrefix("/")
  }
}

/// Access to an engine's single cookies, for adapters of a custom scheme, whose pages have no `document.cookie` of their
/// own.
public protocol ScriptCookieStore: CookieStore {
  /// Returns the cookies that a request to `url` carries, including HttpOnly ones.
  func cookies(for url: String) async -> [PageCookie]
}

extension ScriptCookieStore {
  /// Returns the value of `document.cookie` in a page at `url`.
  func visible(at url: String) async -> String {
    PageCookie.header(await cookies(for: url).filter { !$0.isHTTPOnly }, for: url) ?? ""
  }

  /// Stores what a script of a page at `url` assigns to `document.cookie`. A script can neither set nor replace an HttpOnly
  /// cookie (§5.3, steps 10 and 11), nor set one for another site.
  func write(_ line: String, at url: String) async {
    guard let address = try? ResourceURL(url), let written = WrittenCookie(line), !written.isHTTPOnly,
      written.isAllowed(at: String(address.host)),
      !(await cookies(for: url)).contains(where: { $0.isHTTPOnly && $0.name == written.name })
    else { return }
    await take([line], from: url)
  }
}

/// The parts of a `Set-Cookie` that decide who may write it, and which requests carry it (RFC 6265 §5.2).
struct WrittenCookie {
  let name: String
  let value: String
  let isHTTPOnly: Bool
  /// `Domain` without a leading dot; nil for a cookie of the host alone.
  let domain: String?
  /// `Path`; nil if there is none that begins with a slash.
  private(set) var path: String?
  private(set) var isSecure = false
  private var maxAge: String?
  private var expires: String?

  init?(_ line: String) {
    // A line break would start another header.
    guard !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
    let fields = line.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmingSpaces)
    let pair = fields[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    name = pair.count == 2 ? String(pair[0].trimmingSpaces) : ""
    value = String(pair[pair.count - 1].trimmingSpaces)
    guard !fields[0].isEmpty else { return nil }
    var (isHTTPOnly, domain) = (false, String?.none)
    for field in fields.dropFirst() {
      let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = (pair.count == 2 ? pair[1] : "").trimmingSpaces
      switch pair[0].trimmingSpaces.lowercased() {
      case "httponly": isHTTPOnly = true
      case "secure": isSecure = true
      case "domain":
        let name = value.lowercased()
        domain = name.isEmpty ? nil : name.hasPrefix(".") ? String(name.dropFirst()) : name
      case "path": path = value.hasPrefix("/") ? String(value) : nil
      case "max-age": maxAge = String(value)
      case "expires": expires = String(value)
      default: break
      }
    }
    (self.isHTTPOnly, self.domain) = (isHTTPOnly, domain)
  }

  /// Whether it removes a cookie instead of setting one: "If a cookie has both the Max-Age and the Expires attribute, the
  /// Max-Age attribute has precedence" (§4.1.2.2). `now` is in seconds since 1970.
  func isRemoval(at now: Int64) -> Bool {
    if let maxAge, let seconds = Int64(maxAge) { return seconds <= 0 }
    guard let expires else { return false }
    let forms = [expires, expires.replacing("-", with: " ")]
    return forms.contains { text in
      HTTPDate(text, now: now).map { $0.seconds <= now } ?? false
    }
  }

  /// Whether a page of `host` may write it: for itself, or for a parent domain that isn't a top-level one.
  func isAllowed(at host: String) -> Bool {
    guard let domain else { return true }
    return domain == host.lowercased() || domain.contains(".") && PageCookie.matches(host, "." + domain)
  }
}

extension Substring {
  /// The string without leading and trailing spaces and tabs.
  var trimmingSpaces: Substring {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var rest = drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return rest
  }
}
