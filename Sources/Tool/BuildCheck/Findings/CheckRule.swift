/// The rules of a build's check; each but `secret` can be switched off by its name.
package enum CheckRule: String, CaseIterable, Comparable, Sendable {
  /// A reference to something that doesn't exist.
  case missing
  /// Names that differ only in case.
  case `case`
  case empty
  /// Names with characters that mean something else in a URL.
  case name
  case charset
  /// http inside https.
  case mixed
  /// A URL that this release removes, and another live bundle refers to.
  case removed
  /// A page of the prefetch config that is in no bundle.
  case prefetch
  /// A reference with a query to a file that has none.
  case query
  /// A reference out of the bundle, though the bundle has such a file.
  case outside
  /// A module imported by a bare name.
  case bare
  /// A link to a page that doesn't exist.
  case link
  /// What a fallback page loads by relative URLs, which lead elsewhere at a route.
  case route
  /// A lazy file that a page loads when it opens, be it through modules and style sheets.
  case lazy
  case sourcemap
  case manifest
  /// What a template left in a page.
  case template
  /// Files that no device needs.
  case weight
  /// A pattern of `xcache.json` that no file matches.
  case pattern
  /// Something that is never meant for a browser; it can't be switched off.
  case secret

  package static func < (a: CheckRule, b: CheckRule) -> Bool { a.rawValue < b.rawValue }

  /// The rules that can be switched off.
  package static let optional = allCases.filter { $0 != .secret }

  /// The names of the rules that can be switched off.
  package static var list: String { optional.map(\.rawValue).joined(separator: ", ") }

  /// A short description.
  package var summary: String {
    switch self {
    case .missing: "references to files that don't exist"
    case .case: "names that differ only in case"
    case .empty: "empty files"
    case .name: "names with characters that break in URLs"
    case .charset: "pages without a charset"
    case .mixed: "http references in https pages"
    case .removed: "URLs that this release removes and another live bundle needs"
    case .prefetch: "pages of the prefetch config that are in no bundle"
    case .query: "references with a query, which devices don't answer from their copy"
    case .outside: "references that leave the bundle through a wrong base path"
    case .bare: "modules imported by a bare name"
    case .link: "links to pages that don't exist"
    case .route: "relative references of a fallback page, which lead elsewhere at deeper routes"
    case .lazy: "lazy scripts, styles and preloaded files that pages load when they open"
    case .sourcemap: "missing or invalid source maps"
    case .manifest: "invalid web app manifests"
    case .template: "marks of a template that nothing has replaced, such as {{ title }}"
    case .weight: "files that devices don't need"
    case .pattern: "patterns in xcache.json that match no file"
    case .secret: "keys, tokens and hidden files, which nobody may read; only --allow-secret PATH allows one"
    }
  }
}
