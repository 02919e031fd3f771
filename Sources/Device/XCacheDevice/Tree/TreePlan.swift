import Values

/// The place of each of a manifest's files in a tree.
struct TreePlan {
  /// The entries by path, as bytes.
  private(set) var files: [[UInt8]: HeldEntry] = [:]
  /// The folders that those files need, each with the URL of the first file below it.
  private(set) var folders: [[UInt8]: String] = [:]
  /// URLs below the base that name no file, such as one that ends in `/` or has a query.
  private(set) var skipped: [String] = []
  /// Groups of URLs that map to the same place in the tree; the first of each group is there.
  private(set) var clashes: [[String]] = []

  init(_ index: DeviceIndex, below base: BaseURL) {
    for entry in index.entries where entry.url.text.hasPrefix(base.text + "/") {
      guard let path = TreePath(entry.url, below: base) else {
        skipped.append(entry.url.text)
        continue
      }
      if let other = files[path.bytes] {
        if other.sha256 != entry.sha256 { clashes.append([other.url.text, entry.url.text]) }
      } else {
        files[path.bytes] = entry
        for folder in path.parents where folders[folder] == nil { folders[folder] = entry.url.text }
      }
    }
    dropFilesThatAreFolders()
  }

  /// Drops files whose path is also a folder: the folder's files outnumber the one.
  private mutating func dropFilesThatAreFolders() {
    let both = files.filter { folders[$0.key] != nil }.sorted { $0.value.url < $1.value.url }
    for (path, entry) in both {
      clashes.append([folders[path] ?? "", entry.url.text])
      files[path] = nil
    }
  }
}

/// A file's path below a base URL: the URL's components, percent-decoded.
///
/// Each component is a safe file name, so that no URL can escape the tree.
struct TreePath: Hashable, Sendable {
  /// Bytes, since `String` compares by canonical equivalence and file names don't.
  let bytes: [UInt8]

  /// Nil if the URL isn't below `base`, has a query, or names no file: an empty component, `.` or `..`, or an
  /// escaped `/` or NUL.
  init?(_ url: ResourceURL, below base: BaseURL) {
    guard url.query == nil, url.text.hasPrefix(base.text + "/") else { return nil }
    var bytes: [UInt8] = []
    for component in url.text.utf8.dropFirst(base.text.utf8.count + 1)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    {
      guard let name = CachedName(encoded: Substring(component)) else { return nil }
      if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
      bytes += name.text.utf8
    }
    self.bytes = bytes
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The folders above it, outermost first.
  var parents: [[UInt8]] {
    bytes.indices.filter { bytes[$0] == UInt8(ascii: "/") }.map { Array(bytes[..<$0]) }
  }
}

/// The result of writing a tree.
public struct TreeReport: Hashable, Sendable {
  /// Files that are new or had other bytes.
  public internal(set) var written = 0
  /// Files that were already up to date.
  public internal(set) var unchanged = 0
  /// Files that the manifest no longer lists there.
  public internal(set) var removed = 0
  /// Listed files that the device, and so the tree, doesn't have; `complete` fetches them.
  public internal(set) var missing = 0
  /// Listed URLs below the base that name no file: they end in `/`, have a query, are longer than a path can be, or
  /// contain something that no file name can.
  public internal(set) var skipped: [String] = []
  /// Groups of URLs that map to the same place in the tree, as two files or as a file and a folder; the first of
  /// each group is there.
  public internal(set) var clashes: [[String]] = []
}
