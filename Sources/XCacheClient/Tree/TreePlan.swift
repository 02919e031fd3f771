import Manifests

/// Which file of a manifest lies where in a tree.
struct TreePlan {
  /// By path, as bytes.
  private(set) var files: [[UInt8]: HeldEntry] = [:]
  /// The folders that those files need, each with the URL of the first file below it.
  private(set) var folders: [[UInt8]: String] = [:]
  /// URLs below the base that name no file, such as one that ends in `/` or has a query.
  private(set) var skipped: [String] = []
  /// URLs of which only one can have its place in a tree; the first of each is there.
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

  /// A name is a file or a folder; the files below it are more than the one.
  private mutating func dropFilesThatAreFolders() {
    let both = files.filter { folders[$0.key] != nil }.sorted { $0.value.url < $1.value.url }
    for (path, entry) in both {
      clashes.append([folders[path] ?? "", entry.url.text])
      files[path] = nil
    }
  }
}
