import System
import Values

/// A URL whose entry differs between two manifests.
package struct EntryDifference: Hashable, Sendable {
  package let url: ResourceURL
  package let old: Entry?
  package let new: Entry?

  package init(url: ResourceURL, old: Entry?, new: Entry?) {
    self.url = url
    self.old = old
    self.new = new
  }
}

extension ManifestItem {
  /// Whether every device at this item's manifest has these bytes for it.
  package func isHeld(_ sha256: SHA256) -> Bool { entry.sha256 == sha256 && !entry.isLazy }
}

/// Plans the contents of a pack: which entries replace which, and the base over which to encode each new file.
package struct PackPlan: Sendable {
  package var changes: PackChanges
  /// The touched entries of the base manifest, in order.
  package let old: [ManifestItem]

  /// - Parameters:
  ///   - changes: the changes, sorted by URL.
  ///   - index: returns the index of a URL, or of some bytes, in the base manifest's entries sorted by URL. Bytes that only lazy
  ///     entries have aren't found: a device may lack them.
  ///   - delta: returns the base of a file's delta, among the bytes in the base manifest.
  ///   - stableName: returns the part of a URL that stays the same between builds; URLs with equal stable names
  ///     are partners.
  ///   - leavesOutLazy: whether the files of lazy entries stay out of the pack, which then is one for devices that know of them.
  /// - Returns: nil if an entry isn't as origins write it, so that a device couldn't derive it.
  package init?(
    _ changes: [EntryDifference], index: (url: (ResourceURL) -> Int?, bytes: (SHA256) -> Int?),
    delta: (SHA256) -> SHA256?, stableName: (ResourceURL) -> String, leavesOutLazy: Bool = false
  ) {
    var touched: [Int] = []
    var old: [ManifestItem] = []
    for change in changes {
      guard let entry = change.old else { continue }
      guard let base = index.url(change.url) else { return nil }
      touched.append(base)
      old.append(ManifestItem(url: change.url, entry: entry))
    }
    var partners = Partners(old, staying: Set(changes.lazy.filter { $0.new != nil }.map(\.url)), stableName)
    var arrivals: [PackChanges.Arrival] = []
    var first: [SHA256: Int] = [:]
    for change in changes {
      guard let entry = change.new else { continue }
      guard let form = EntryForm(entry), let cut = EntryForm.cut(entry.download) else { return nil }
      let isAbsent = leavesOutLazy && entry.isLazy
      let base = isAbsent || index.bytes(entry.sha256) != nil ? entry.sha256 : delta(entry.sha256)
      let partner = partners.take(for: change.url, stableName(change.url), base)
      let source: PackChanges.Source =
        if isAbsent {
          .absent(FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size))
        } else if let held = index.bytes(entry.sha256) {
          .held(partner.flatMap { old[$0].isHeld(entry.sha256) ? touched[$0] : nil } ?? held)
        } else if let earlier = first[entry.sha256] {
          .arrival(earlier)
        } else {
          .record(
            base: base.flatMap { base in
              partner.flatMap { old[$0].isHeld(base) ? touched[$0] : nil } ?? index.bytes(base)
            }, isRenamed: false)
        }
      let arrival = PackChanges.Arrival(
        url: change.url, partner: partner, form: form, version: entry.version,
        manifestVersion: cut.manifestVersion, source: source)
      guard arrival.entry(FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size)) == entry else {
        return nil
      }
      if !isAbsent, first[entry.sha256] == nil { first[entry.sha256] = arrivals.count }
      arrivals.append(arrival)
    }
    self.changes = PackChanges(touched: touched, arrivals: arrivals)
    self.old = old
  }

  /// The touched entries that are still free to be a partner.
  private struct Partners {
    private let urls: [ResourceURL: Int]
    private var bytes: [SHA256: [Int]] = [:]
    private var names: [String: [Int]] = [:]
    private var isTaken: [Bool]

    /// Entries whose URL stays are taken, by the entry that replaces them.
    init(_ old: [ManifestItem], staying: Set<ResourceURL>, _ stableName: (ResourceURL) -> String) {
      urls = Dictionary(old.enumerated().map { ($1.url, $0) }) { $1 }
      isTaken = old.map { staying.contains($0.url) }
      for (index, item) in old.enumerated().reversed() where !isTaken[index] {
        bytes[item.entry.sha256, default: []].append(index)
        names[stableName(item.url), default: []].append(index)
      }
    }

    /// Returns the entry of the same URL, else one with the bytes of the base, else one with the same stable
    /// name.
    mutating func take(for url: ResourceURL, _ name: String, _ base: SHA256?) -> Int? {
      if let same = urls[url] { return same }
      if let base, let found = Self.free(&bytes[base, default: []], isTaken) {
        isTaken[found] = true
        return found
      }
      guard let found = Self.free(&names[name, default: []], isTaken) else { return nil }
      isTaken[found] = true
      return found
    }

    private static func free(_ indices: inout [Int], _ isTaken: [Bool]) -> Int? {
      while let last = indices.last, isTaken[last] { indices.removeLast() }
      return indices.last
    }
  }
}
