import Values

/// Whether a release contains a page, perhaps under another URL.
package struct PageListing: Hashable, Sendable {
  /// Whether the release contains it.
  package let isListed: Bool
  /// What to do about a page that isn't listed; nil if nothing is known.
  package private(set) var hint: String?
  /// The page that answers for it, because it is a route; nil if it is listed itself, or none does.
  package let fallback: String?

  /// Looks a page up among the release's `urls`; `fallback` is the page that answers for it, and `secureFallback` the one that answers for
  /// the same address with https.
  init(_ page: ResourceURL, among urls: [String], fallback: String? = nil, secureFallback: String? = nil) {
    var known: [String: String] = [:]
    for url in urls { if let key = (try? ResourceURL(url))?.matchKey { known[key] = url } }
    let plain = String(page.withoutQuery)
    func listed(_ url: String) -> String? { (try? ResourceURL(url)).flatMap { known[$0.matchKey] } }
    isListed = known[page.matchKey] != nil || listed(plain) != nil
    self.fallback = isListed ? nil : fallback
    if page.scheme == "http", isListed || fallback != nil {
      hint = "a preview's device answers https addresses only"
    }
    if isListed || fallback != nil { return }
    if let secure = Self.secure(page) {
      if (listed(secure) ?? listed("https" + plain.dropFirst(4))) != nil {
        hint = "the release has \(secure), with https; devices treat these as two addresses"
        return
      }
      if let secureFallback {
        hint =
          "\(secureFallback) is the fallback of \(secure), with https; devices treat these as two addresses"
        return
      }
    }
    let folder = plain.hasSuffix("/") ? plain : plain + "/"
    if let folder = listed(folder) {
      hint = "the release has \(folder), with a slash at its end; devices treat these as two addresses"
    } else if let index = listed(folder + "index.html") {
      hint =
        "the release has \(index), but not the folder's address; `xcache publish --index` lists it as \(folder), too"
    }
  }

  /// The same address with https; nil if it has that already, or a port of its own.
  static func secure(_ page: ResourceURL) -> String? {
    guard page.scheme == "http", !page.authority.contains(":") else { return nil }
    return "https" + page.text.dropFirst(page.scheme.count)
  }
}
