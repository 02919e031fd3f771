import Manifests
import Values

/// A file and the URL under which it is published.
package struct MappedFile: Hashable, Sendable {
  package let url: ResourceURL
  package let ctype: ContentType
  package let headers: EntryHeaders
  package fileprivate(set) var fallbacks = PageFallbacks()
  /// Whether updates leave the file out until a page asks for it.
  package fileprivate(set) var isLazy = false
  package let file: SourceFile

  init(url: ResourceURL, ctype: ContentType, headers: EntryHeaders, file: SourceFile) {
    self.url = url
    self.ctype = ctype
    self.headers = headers
    self.file = file
  }
}

/// Assigns each file its URLs, content type, headers and fallbacks, and says which are lazy.
package enum Mapping {
  /// Returns the files in all folders of `bundle` by URL.
  /// - Throws: `PublishError` of the scan; `noURL`; `duplicates` with every URL that two files would have; `fallback`; `lazyPages`.
  package static func files(of bundle: BundleSource) throws(PublishError) -> [MappedFile] {
    try files(of: FoundBundle(bundle))
  }

  /// As above, for folders already scanned.
  static func files(of bundle: FoundBundle) throws(PublishError) -> [MappedFile] {
    let source = bundle.source
    var mapped: [MappedFile] = []
    for (folder, files) in zip(source.folders, bundle.files) {
      for file in files {
        let ctype = ctype(of: file.path, source.types)
        let headers = headers(of: file.path, source.headers)
        for path in paths(file.path, mapsIndex: source.mapsIndex) {
          let url = try url(folder.baseURL, path, file)
          mapped.append(MappedFile(url: url, ctype: ctype, headers: headers, file: file))
        }
      }
    }
    mapped.sort { $0.url < $1.url }
    let duplicates = duplicates(mapped)
    guard duplicates.isEmpty else { throw .duplicates(duplicates) }
    try addFallbacks(of: source, to: &mapped)
    try markLazy(of: source, in: &mapped)
    return mapped
  }

  /// Marks the files that a pattern of `lazy` matches.
  /// - Throws: `lazyPages` if pages are among them.
  private static func markLazy(of source: BundleSource, in files: inout [MappedFile]) throws(PublishError) {
    if source.lazy.isEmpty { return }
    for index in files.indices {
      files[index].isLazy = source.lazy.contains { $0.pattern.matches(files[index].file.path) }
    }
    for pattern in source.lazy {
      let pages = files.filter { file in
        PageFallbacks.isDocument(file.ctype.text) && pattern.pattern.matches(file.file.path)
      }
      // The index of a folder has two URLs.
      let paths = Set(pages.map(\.file.path)).sorted()
      guard paths.isEmpty else { throw .lazyPages(pattern, source.name, paths) }
    }
  }

  /// Gives the pages among `files` their fallbacks.
  /// - Throws: `fallback`.
  private static func addFallbacks(of source: BundleSource, to files: inout [MappedFile]) throws(PublishError)
  {
    var rules: [Int: [PageFallbacks.Rule]] = [:]
    for fallback in source.fallbacks {
      let key = fallback.page.matchKey
      guard let index = files.firstIndex(where: { $0.url.matchKey == key }) else {
        if source.skipsFallbacks { continue }
        throw .fallback(fallback, source.name, .noFile(near: near(fallback.page, files)))
      }
      guard PageFallbacks.isDocument(files[index].ctype.text) else {
        throw .fallback(fallback, source.name, .noDocument(files[index].ctype))
      }
      rules[index, default: []].append(fallback.rule)
    }
    for (index, rules) in rules {
      // Settings are refused if their rules don't fit together.
      files[index].fallbacks = (try? PageFallbacks(rules)) ?? PageFallbacks()
    }
  }

  /// Returns the page that was probably meant: the folder's index, or the only page.
  private static func near(_ page: ResourceURL, _ files: [MappedFile]) -> ResourceURL? {
    let folder = page.text.hasSuffix("/") ? page.text : page.text + "/"
    if let index = files.first(where: { $0.url.text == folder + "index.html" }) { return index.url }
    let pages = files.filter { PageFallbacks.isDocument($0.ctype.text) && !$0.url.text.hasSuffix("/") }
    return pages.count == 1 ? pages[0].url : nil
  }

  /// Returns the paths of a file: its own and, if wanted, that of the folder whose index it is.
  static func paths(_ path: String, mapsIndex: Bool) -> [String] {
    let index = "index.html"
    guard mapsIndex, path == index || path.hasSuffix("/" + index) else { return [path] }
    return [path, String(path.dropLast(index.count))]
  }

  private static func ctype(of path: String, _ rules: [BundleSource.TypeRule]) -> ContentType {
    if let rule = rules.first(where: { $0.pattern.matches(path) }) { return rule.ctype }
    return ContentType.of(fileName: path)
  }

  private static func headers(of path: String, _ rules: [BundleSource.HeaderRule]) -> EntryHeaders {
    var values: [EntryHeaders.Name: EntryHeaders.Value?] = [:]
    for rule in rules where rule.pattern.matches(path) { values.merge(rule.values) { first, _ in first } }
    return EntryHeaders(values.compactMapValues(\.self))
  }

  private static func url(_ base: BaseURL, _ path: String, _ file: SourceFile) throws(PublishError)
    -> ResourceURL
  {
    do {
      return try ResourceURL.mapping(base: base, path: path)
    } catch {
      throw .noURL(file: file.location, error)
    }
  }

  /// Returns the groups of matching URLs, each once, by URL. `files` are sorted by URL.
  static func duplicates(_ files: [MappedFile]) -> [PublishError.Duplicate] {
    let keyed = files.map { (key: $0.url.matchKey, file: $0) }
    let sorted =
      keyed.contains { $0.file.url.text.utf8.contains(UInt8(ascii: "%")) }
      ? keyed.sorted { $0.key < $1.key } : keyed
    var groups: [PublishError.Duplicate] = []
    var start = 0
    for end in 1..<max(1, sorted.count + 1) where end == sorted.count || sorted[end].key != sorted[start].key
    {
      if end - start > 1 {
        let group = sorted[start..<end]
        groups.append(
          PublishError.Duplicate(
            url: sorted[start].file.url.text, files: group.map(\.file.file.location).sorted()))
      }
      start = end
    }
    return groups
  }
}
