import Manifests
import Values

/// A file and the URL under which it is published.
package struct MappedFile: Hashable, Sendable {
  package let url: ResourceURL
  package let ctype: ContentType
  package let headers: EntryHeaders
  package let file: SourceFile
}

/// Assigns each file its URLs, content type and headers.
package enum Mapping {
  /// Returns the files in all folders of `bundle` by URL.
  /// - Throws: `PublishError` of the scan; `noURL`; `duplicates` with every URL that two files would have.
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
    return mapped
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
