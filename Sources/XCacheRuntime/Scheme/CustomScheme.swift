import Manifests

/// Addresses on the scheme that stands in for https where an engine can't be given a proxy: `xcache-https://m.example.com/a` is
/// `https://m.example.com/a`.
public enum CustomScheme {
  /// In the place of `https`, as an adapter registers it with its engine.
  public static let https = "xcache-https"
  /// In the place of `http`.
  public static let http = "xcache-http"

  /// Carries the id of a request's body where a header can't.
  package static let parameter = "xcache-body"
  /// Carries it else, in lower case.
  package static let header = "x-xcache-body"
  /// Where `document.cookie` is read and written.
  package static let cookiePath = "/.well-known/xcache/cookie"

  static let prefix = "xcache-"

  /// The address as a page on the scheme has it; nil where that is neither http nor https.
  public static func inPage(_ url: String) -> String? {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    return scheme == "http" || scheme == "https" ? prefix + url : nil
  }

  /// The address at the server, without the id of a body; nil where it isn't on the scheme.
  public static func real(_ url: String) -> String? {
    let scheme = url.prefix { $0 != ":" }.lowercased()
    guard scheme == http || scheme == https else { return nil }
    return split(String(url.dropFirst(prefix.count))).url
  }

  /// Whether an address is on the scheme.
  static func has(_ url: String) -> Bool { real(url) != nil }

  /// An address without the id of a body, and the id.
  static func split(_ url: String) -> (url: String, id: String?) {
    guard let start = url.firstIndex(of: "?") else { return (url, nil) }
    let end = url[start...].firstIndex(of: "#") ?? url.endIndex
    let fields = url[url.index(after: start)..<end].split(separator: "&", omittingEmptySubsequences: false)
    let mark = parameter + "="
    // The last one: a page's own parameter of that name comes before it.
    guard let last = fields.lastIndex(where: { $0.hasPrefix(mark) }) else { return (url, nil) }
    let id = String(fields[last].dropFirst(mark.count))
    var rest = fields
    rest.remove(at: last)
    let query = rest.isEmpty ? "" : "?" + rest.joined(separator: "&")
    return (url[..<start] + query + url[end...], id)
  }

  /// What a page says of itself in `Origin` or `Referer`, as a server knows it.
  static func told(_ value: String) -> String { real(value) ?? value }
}
