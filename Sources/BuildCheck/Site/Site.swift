import Manifests

/// All files of a release, by the URLs that reach them.
package struct Site: Sendable {
  /// The URL of a published folder.
  package struct Base: Sendable {
    let url: BaseURL
    /// With a slash at its end.
    let prefix: String
    let filter: FileFilter
  }

  let files: [CheckedBundle.File]
  let bases: [Base]
  /// Longer ones of bundles that aren't checked: what lies below is theirs.
  private let foreignBases: [String]
  private let places: [String: Int]

  /// - Parameter others: base URLs of bundles that aren't part of the release.
  init(_ bundles: [CheckedBundle], others: [BaseURL] = []) {
    files = bundles.flatMap(\.files)
    bases = bundles.flatMap { bundle in
      bundle.bases.map { Base(url: $0, prefix: $0.text + "/", filter: bundle.filter) }
    }
    let own = Set(bases.map(\.prefix))
    foreignBases = others.map { $0.text + "/" }.filter { !own.contains($0) }
    places = Dictionary(
      files.enumerated().map { ($1.url.matchKey, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The file that a device gives for `url`.
  package func file(_ url: ResourceURL) -> Int? { places[url.matchKey] }

  /// The file that is there when the query is left away.
  package func fileWithoutQuery(_ url: ResourceURL) -> Int? {
    guard url.query != nil, let plain = try? ResourceURL(String(url.withoutQuery)) else { return nil }
    return file(plain)
  }

  /// Whether `url` is one of a folder that has an index page.
  func isIndexed(_ url: ResourceURL) -> Bool {
    let folder = url.withoutQuery
    let index = folder.hasSuffix("/") ? "\(folder)index.html" : "\(folder)/index.html"
    return (try? ResourceURL(index)).map { file($0) != nil } ?? false
  }

  /// The base URL under which `url` lies; nil where it belongs to nobody or to another bundle.
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

  /// Below its base, as people write it: without escapes.
  func path(of url: ResourceURL, under base: Base) -> String {
    Self.decoded(url.text.dropFirst(base.prefix.count))
  }

  private static func decoded(_ text: Substring) -> String {
    String(validating: PercentEncoding.decodeLeniently(text.utf8), as: UTF8.self) ?? String(text)
  }
}

/// A bundle as it is to be checked.
package struct CheckedBundle: Sendable {
  /// A file and where it will be.
  package struct File: Sendable {
    package let url: ResourceURL
    package let ctype: ContentType
    /// How it is opened and named in findings.
    package let location: String
    /// Below the published folder, names apart by `/`.
    package let path: String
    /// Bytes.
    package let size: Int64

    package init(url: ResourceURL, ctype: ContentType, location: String, path: String, size: Int64) {
      self.url = url
      self.ctype = ctype
      self.location = location
      self.path = path
      self.size = size
    }
  }

  let files: [File]
  let bases: [BaseURL]
  let filter: FileFilter

  /// - Parameters:
  ///   - bases: URLs of the folders that the files are from.
  ///   - filter: what was left out of them.
  package init(_ files: [File], bases: [BaseURL], filter: FileFilter) {
    self.files = files
    self.bases = bases
    self.filter = filter
  }
}
