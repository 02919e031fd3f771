import Compression
import Manifests
import Store
import System
import Values

/// The positions of URLs and bytes in the manifest that a pack starts from, in the order of its URLs.
///
/// Bytes that only lazy entries have count as missing: devices may lack them.
struct PackBase {
  let index: (ResourceURL) -> Int?
  let holder: (SHA256) -> Int?
  /// Whether it has lazy entries. Then its devices know of them, and a pack from it leaves out the lazy files.
  let hasLazy: Bool

  /// - Parameters:
  ///   - table: the whole manifest, sorted by URL.
  ///   - wanted: the bytes that will be looked up.
  init(_ table: ContentTable, wanted: Set<SHA256>) {
    var holders: [SHA256: Int] = [:]
    for index in table.indices {
      let sha256 = table.sha256(at: index)
      if wanted.contains(sha256), holders[sha256] == nil, !table.isLazy(at: index) { holders[sha256] = index }
    }
    hasLazy = table.hasLazy
    holder = { [holders] in holders[$0] }
    index = { table.index(of: $0) }
  }

  /// Creates a base; `holders` are URLs that hold, or recently held, the bytes that will be looked up.
  init(_ map: ManifestMap, holders: [SHA256: ResourceURL], hasLazy: Bool) {
    self.hasLazy = hasLazy
    // URLs are looked up in order, bytes in any order: each has its own reader.
    let (urls, bytes) = (MapReader(map), MapReader(map))
    index = { urls.index(of: Array($0.text.utf8)) }
    holder = { sha256 in
      guard let url = holders[sha256].map({ Array($0.text.utf8) }), let entry = bytes.entry(for: url),
        let held = try? Entry(parsing: Array(entry)), held.sha256 == sha256, !held.isLazy
      else { return nil }
      return bytes.index(of: url)
    }
  }
}

extension PackPlan {
  /// The plan of a pack whose files have deltas from these bytes.
  init?(_ changes: [EntryDifference], on base: PackBase, deltaBases: [SHA256: SHA256]) {
    self.init(
      changes, index: (base.index, base.holder), delta: { deltaBases[$0] },
      stableName: { StableName(path: $0.text).name(mark: "*") }, leavesOutLazy: base.hasLazy)
  }
}
