import Manifests

/// URLs on the scheme that replaces https if an engine can't be given a proxy: `xcache-https://m.example.com/a` is
/// `https://m.example.com/a`.
public enum CustomScheme {
  /// Replaces `https`; adapters register it with their engine.
  public static let https = "xcache-https"
  /// Replaces `http`.
  public static let http = "xcache-http"

  /// The query parameter for the id of a request's body, used if a header can't carry it.
  package static let parameter = "xcache-body"
  /// The header for the id in all other cases, in lower case.
  package static let header = "x-xcache-body"
  /// The path for reading and writing `document.cookie`.
  package static let cookiePath = "/.well-known/xcache/cookie"

  static let prefix = "xcache-"

  /// Returns the URL as a page on the scheme sees it; nil if it is neither http nor https.
  public static func inPage(_ url: String) -> String? {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    return scheme == "http" || scheme == "https" ? prefix + url : nil
  }

  /// Returns the server's URL, without the id of a body; nil if `url` isn't on the scheme.
  public static func real(_ url: String) -> String? {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    guard scheme == http || scheme == https else { return nil }
    return split(String(url.dropFirst(prefix.count))).url
  }

  /// Whether a URL is on the scheme.
  static func has(_ url: String) -> Bool { real(url) != nil }

  /// Returns the URL without the id of a body, and the id.
  static func split(_ url: String) -> (url: String, id: String?) {
    guard let start = url.firstIndex(of: "?") else { return (url, nil) }
    let end = url[start...].firstIndex(of: "#") ?? url.endIndex
    let fields = url[url.index(after: start)..<end].split(separator: "&", omittingEmptySubsequences: false)
    let mark = parameter + "="
    // The last one: a page's own parameter of that name would come before it.
    guard let last = fields.lastIndex(where: { $0.hasPrefix(mark) }) else { return (url, nil) }
    let id = String(fields[last].dropFirst(mark.count))
    var rest = fields
    rest.remove(at: last)
    let query = rest.isEmpty ? "" : "?" + rest.joined(separator: "&")
    return (url[..<start] + query + url[end...], id)
  }

  /// Returns an `Origin` or `Referer` as a server knows it.
  static func serverValue(_ value: String) -> String { real(value) ?? value }
}
