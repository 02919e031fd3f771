import Compression
import Manifests
import Store
import System

/// Where URLs and bytes are in the manifest that a pack starts from, counted in the order of its URLs.
struct PackBase {
  let place: (ResourceURL) -> Int?
  let holder: (SHA256) -> Int?

  /// - Parameters:
  ///   - table: all of the manifest, sorted by URL.
  ///   - wanted: the bytes that will be asked for.
  init(_ table: ContentTable, wanted: Set<SHA256>) {
    var holders: [SHA256: Int] = [:]
    for index in table.indices {
      let sha256 = table.sha256(at: index)
      if wanted.contains(sha256), holders[sha256] == nil { holders[sha256] = index }
    }
    holder = { [holders] in holders[$0] }
    place = { table.place(of: $0) }
  }

  /// - Parameter holders: which URLs hold the bytes that will be asked for, or held them a moment ago.
  init(_ map: ManifestMap, holders: [SHA256: ResourceURL]) {
    // URLs are asked for in their order, bytes in any: each its own way through the pieces.
    let (places, bytes) = (MapReader(map), MapReader(map))
    place = { places.place(of: Array($0.text.utf8)) }
    holder = { sha256 in
      guard let url = holders[sha256].map({ Array($0.text.utf8) }), let entry = bytes.entry(for: url),
        (try? Entry(parsing: Array(entry)))?.sha256 == sha256
      else { return nil }
      return bytes.place(of: url)
    }
  }
}

extension PackPlan {
  /// The plan of a pack whose files have deltas on these bytes.
  init?(_ changes: [Manifests.EntryChange], on base: PackBase, deltaBases: [SHA256: SHA256]) {
    self.init(changes, place: (base.place, base.holder), delta: { deltaBases[$0] }) {
      StableName(path: $0.text).name(mark: "*")
    }
  }
}
