import Manifests
import Values

/// All files of a release by URL.
package struct Site: Sendable {
  /// The URL of a published folder.
  package struct Base: Sendable {
    let url: BaseURL
    /// The URL with a trailing slash.
    let prefix: String
    let filter: FileFilter
  }

  let files: [CheckedBundle.File]
  package var count: Int { files.count }
  let bases: [Base]
  /// Longer base URLs of bundles that aren't checked: everything below them is theirs.
  private let foreignBases: [String]
  private let indices: [String: Int]
  /// The pages that answer routes.
  let fallbacks: FallbackTable<ResourceURL>
  /// Indices of files with fallbacks.
  private let fallbackFiles: [Int]

  /// Creates a site; `others` are the base URLs of bundles that aren't part of the release.
  init(_ bundles: [CheckedBundle], others: [BaseURL] = []) {
    files = bundles.flatMap(\.files)
    bases = bundles.flatMap { bundle in
      bundle.bases.map { Base(url: $0, prefix: $0.text + "/", filter: bundle.filter) }
    }
    let own = Set(bases.map(\.prefix))
    foreignBases = others.map { $0.text + "/" }.filter { !own.contains($0) }
    indices = Dictionary(
      files.enumerated().map { ($1.url.matchKey, $0) }, uniquingKeysWith: { first, _ in first })
    let pages = files.indices.filter { [files] in !files[$0].fallbacks.isEmpty }
    fallbackFiles = pages
    fallbacks = FallbackTable(
      pages.map { [files] in (files[$0].url, files[$0].ctype.text, files[$0].fallbacks) })
  }

  /// Whether a fallback page answers navigations to `url`.
  package func isRoute(_ url: ResourceURL) -> Bool { fallbacks[url] != nil }

  /// Returns the URLs at which the file at `location` is a fallback page.
  func fallbackPages(at location: String) -> [CheckedBundle.File] {
    fallbackFiles.lazy.map { files[$0] }.filter { $0.location == location }
  }

  /// Returns the index of the file that a device would return for `url`.
  package func file(_ url: ResourceURL) -> Int? { indices[url.matchKey] }

  /// Returns the index of the file for `url` without its query.
  package func fileWithoutQuery(_ url: ResourceURL) -> Int? {
    guard url.query != nil, let plain = try? ResourceURL(String(url.withoutQuery)) else { return nil }
    return file(plain)
  }

  /// Whether `url` is a folder with an index page.
  func isIndexed(_ url: ResourceURL) -> Bool {
    let folder = url.withoutQuery
    let index = folder.hasSuffix("/") ? "\(folder)index.html" : "\(folder)/index.html"
    return (try? ResourceURL(index)).map { file($0) != nil } ?? false
  }

  /// Returns the base that contains `url`, or nil if that is nobody's or another bundle's.
  package func base(of url: ResourceURL) -> Base? {
    let own = bases.filter { url.text.hasPrefix($0.prefix) }.max {
      $0.prefix.utf8.count < $1.prefix.utf8.count
    }
    guard let own else { return nil }
    let isForeign = foreignBases.contains {
      $0.utf8.count > own.prefix.utf8.count && url.text.hasPrefix($0)
    }
    return isForeign ? nil : own
  }

  /// Whether `url` lies below a base of a bundle that isn't checked.
  func isForeign(_ url: ResourceURL) -> Bool { foreignBases.contains { url.text.hasPrefix($0) } }

  /// Returns the path below its base, without escapes.
  func path(of url: ResourceURL, under base: Base) -> String {
    Self.decoded(url.text.dropFirst(base.prefix.count))
  }

  private static func decoded(_ text: Substring) -> String {
    String(validating: PercentEncoding.decodeLeniently(text.utf8), as: UTF8.self) ?? String(text)
  }
}

/// A bundle to be checked.
package struct CheckedBundle: Sendable {
  /// A file and its URL.
  package struct File: Sendable {
    package let url: ResourceURL
    package let ctype: ContentType
    /// The path to open it.
    package let location: String
    /// The path that findings name, if it isn't `location`: that of a file in a zip.
    package var shown: String?
    /// The path below the published folder, with `/` as the separator.
    package let path: String
    /// The size in bytes.
    package let size: Int64
    /// The navigations that it answers if nothing else does.
    package var fallbacks = PageFallbacks()
    /// Whether updates leave it out until a page asks for it.
    package var isLazy = false

    package init(url: ResourceURL, ctype: ContentType, location: String, path: String, size: Int64) {
      self.url = url
      self.ctype = ctype
      self.location = location
      self.path = path
      self.size = size
    }

    var place: String { shown ?? location }
  }

  let files: [File]
  let bases: [BaseURL]
  let filter: FileFilter

  /// Creates a bundle from files below the URLs `bases`; `filter` has left out others.
  package init(_ files: [File], bases: [BaseURL], filter: FileFilter) {
    self.files = files
    self.bases = bases
    self.filter = filter
  }
}
