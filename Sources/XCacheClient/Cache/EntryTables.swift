import Manifests
import System

/// Which bytes belong under each file name of a manifest.
///
/// Entries are in the order of their URLs, and a file's name is mostly made of its URL: a search among them needs no table.
struct NameTable: Sendable {
  private let entries: [HeldEntry]
  /// Where in `entries` one of each other name is.
  private let others: [CachedName: Int32]

  /// - Throws: `sameName`, where two entries want one name for different bytes.
  init(_ entries: [HeldEntry]) throws(ManifestFault) {
    var others: [CachedName: Int32] = [:]
    for (place, entry) in entries.enumerated() {
      let name = entry.name
      if name.url == entry.url.text { continue }
      let same = others.updateValue(Int32(clamping: place), forKey: name).map { Int($0) }
      guard let other = same ?? Self.place(of: name, in: entries), entries[other].sha256 != entry.sha256
      else { continue }
      throw .sameName(name.text, urls: entries.filter { $0.name == name }.map(\.url))
    }
    self.entries = entries
    self.others = others
  }

  /// The bytes under a name; nil where nothing belongs there.
  subscript(name: CachedName) -> SHA256? { place(of: name).map { entries[$0].sha256 } }

  /// The name as the manifest has it, so that nobody keeps a text of his own.
  func shared(_ name: CachedName) -> CachedName { place(of: name).map { entries[$0].name } ?? name }

  private func place(of name: CachedName) -> Int? {
    others[name].map { Int($0) } ?? Self.place(of: name, in: entries)
  }

  /// Where the entry is whose URL makes this name.
  private static func place(of name: CachedName, in entries: [HeldEntry]) -> Int? {
    guard let place = entries.place(of: name.url), entries[place].name == name else { return nil }
    return place
  }
}

/// Which listed resource a URL means (docs/protocol.md §4).
struct URLTable: Sendable {
  private let entries: [HeldEntry]
  /// Where in `entries` those are that are written with escapes which needn't be, by what they match by.
  private let others: [String: Int32]

  init(_ entries: [HeldEntry]) {
    var others: [String: Int32] = [:]
    for (place, entry) in entries.enumerated() where entry.url.text.utf8.contains(UInt8(ascii: "%")) {
      let key = entry.url.matchKey
      if key != entry.url.text { others[key] = Int32(clamping: place) }
    }
    self.entries = entries
    self.others = others
  }

  /// The entry that `url` matches.
  subscript(url: ResourceURL) -> HeldEntry? {
    let key = url.matchKey
    if let place = others[key] { return entries[Int(place)] }
    guard let place = entries.place(of: key), entries[place].url.matchKey == key else { return nil }
    return entries[place]
  }
}

extension [HeldEntry] {
  /// Where the entry of a URL is, of entries in the order of their URLs.
  fileprivate func place(of url: String) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].url.text < url { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].url.text == url ? low : nil
  }
}
