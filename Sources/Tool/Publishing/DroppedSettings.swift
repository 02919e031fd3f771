import Manifests

/// What `lazy` and `fallback` of `xcache.json` had said of a bundle's live files, and the release doesn't say any more: they have no options,
/// so perhaps the file wasn't read.
package struct DroppedSettings: Hashable, Sendable {
  package let bundle: BundleName
  /// How many files cease to be lazy, if none of the release is.
  package let lazy: Int
  /// The pages that cease to answer routes, if none of the release does; sorted.
  package let pages: [String]

  /// Compares a bundle's `local` files with its live ones.
  /// - Returns: nil if nothing was dropped, or if other files are lazy, or answer routes.
  init?(_ bundle: BundleName, _ local: [BuildFile], live: RemoteBundle) {
    typealias Form = RemoteBundle.Entry.Form
    let hasLazy = local.contains(where: \.content.isLazy)
    let hasPages = local.contains { !$0.content.fallbacks.isEmpty }
    let lazy = hasLazy ? [] : live.entries.filter(\.form.isLazy)
    let pages = hasPages ? [] : live.entries.filter { $0.form.fallbacks != Form.noFallbacks }
    if lazy.isEmpty, pages.isEmpty { return nil }
    let urls = Set(local.map(\.url.text))
    self.bundle = bundle
    self.lazy = lazy.count { urls.contains($0.url) }
    self.pages = pages.map(\.url).filter { urls.contains($0) }
    if self.lazy == 0, self.pages.isEmpty { return nil }
  }
}
