import System
import Values

/// Which bytes belong under each file name of a manifest.
///
/// Entries are sorted by URL, and most file names are made from their URL, so a binary search finds these without a table.
struct NameTable: Sendable {
  private let entries: [HeldEntry]
  /// The index in `entries` of one entry for each other name.
  private let others: [CachedName: Int32]

  /// - Throws: `sameName`, if two entries need the same name for different bytes.
  init(_ entries: [HeldEntry]) throws(ManifestFault) {
    var others: [CachedName: Int32] = [:]
    for (index, entry) in entries.enumerated() {
      let name = entry.name
      if name.url == entry.url.text { continue }
      let same = others.updateValue(Int32(clamping: index), forKey: name).map { Int($0) }
      guard let other = same ?? Self.index(of: name, in: entries), entries[other].sha256 != entry.sha256
      else { continue }
      throw .sameName(name.text, urls: entries.filter { $0.name == name }.map(\.url))
    }
    self.entries = entries
    self.others = others
  }

  /// The digest of the bytes under a name; nil if the name isn't in use.
  subscript(name: CachedName) -> SHA256? { index(of: name).map { entries[$0].sha256 } }

  /// Returns the manifest's instance of a name, so that its text is in memory only once.
  func shared(_ name: CachedName) -> CachedName { index(of: name).map { entries[$0].name } ?? name }

  private func index(of name: CachedName) -> Int? {
    others[name].map { Int($0) } ?? Self.index(of: name, in: entries)
  }

  /// Returns the index of the entry whose URL makes this name.
  private static func index(of name: CachedName, in entries: [HeldEntry]) -> Int? {
    guard let index = entries.index(of: name.url), entries[index].name == name else { return nil }
    return index
  }
}

/// Which listed resource a URL matches (docs/protocol.md §4).
struct URLTable: Sendable {
  private let entries: [HeldEntry]
  /// The indices in `entries` of URLs with unnecessary escapes, by match key.
  private let others: [String: Int32]

  init(_ entries: [HeldEntry]) {
    var others: [String: Int32] = [:]
    for (index, entry) in entries.enumerated() where entry.url.text.utf8.contains(UInt8(ascii: "%")) {
      let key = entry.url.matchKey
      if key != entry.url.text { others[key] = Int32(clamping: index) }
    }
    self.entries = entries
    self.others = others
  }

  /// The entry that `url` matches.
  subscript(url: ResourceURL) -> HeldEntry? {
    let key = url.matchKey
    if let index = others[key] { return entries[Int(index)] }
    guard let index = entries.index(of: key), entries[index].url.matchKey == key else { return nil }
    return entries[index]
  }
}

extension [HeldEntry] {
  /// Returns the index of a URL's entry, in entries sorted by URL.
  fileprivate func index(of url: String) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].url.text < url { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].url.text == url ? low : nil
  }
}
