import Values

/// Whether a release contains a page, perhaps under another URL.
package struct PageListing: Hashable, Sendable {
  /// Whether the release contains it.
  package let isListed: Bool
  /// What to do about a page that isn't listed; nil if nothing is known.
  package private(set) var hint: String?

  /// Looks a page up among the release's `urls`.
  init(_ page: ResourceURL, among urls: [String]) {
    var known: [String: String] = [:]
    for url in urls { if let key = (try? ResourceURL(url))?.matchKey { known[key] = url } }
    let plain = String(page.withoutQuery)
    func listed(_ url: String) -> String? { (try? ResourceURL(url)).flatMap { known[$0.matchKey] } }
    isListed = known[page.matchKey] != nil || listed(plain) != nil
    if isListed { return }
    let folder = plain.hasSuffix("/") ? plain : plain + "/"
    if let folder = listed(folder) {
      hint = "the release has \(folder), with a slash at its end; devices treat these as two addresses"
    } else if let index = listed(folder + "index.html") {
      hint =
        "the release has \(index), but not the folder's address; `xcache publish --index` lists it as \(folder), too"
    }
  }
}
