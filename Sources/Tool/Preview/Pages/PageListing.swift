import Values

/// Whether a release contains a page, perhaps under another URL.
package struct PageListing: Hashable, Sendable {
  /// Whether the release contains it.
  package let isListed: Bool
  /// What to do about a page that isn't listed; nil if nothing is known.
  package private(set) var hint: String?
  /// The page that answers for it, because it is a route; nil if it is listed itself, or none does.
  package let fallback: String?

  /// Looks a page up among the release's `urls`; `fallback` is the page that answers for it.
  init(_ page: ResourceURL, among urls: [String], fallback: String? = nil) {
    var known: [String: String] = [:]
    for url in urls { if let key = (try? ResourceURL(url))?.matchKey { known[key] = url } }
    let plain = String(page.withoutQuery)
    func listed(_ url: String) -> String? { (try? ResourceURL(url)).flatMap { known[$0.matchKey] } }
    isListed = known[page.matchKey] != nil || listed(plain) != nil
    self.fallback = isListed ? nil : fallback
    if isListed || fallback != nil { return }
    let folder = plain.hasSuffix("/") ? plain : plain + "/"
    if let folder = listed(folder) {
      hint = "the release has \(folder), with a slash at its end; devices treat these as two addresses"
    } else if let index = listed(folder + "index.html") {
      hint =
        "the release has \(index), but not the folder's address; `xcache publish --index` lists it as \(folder), too"
    }
  }
}
