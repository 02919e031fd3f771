import System
import Values

/// A manifest as a device holds it: a version, and its entries sorted by URL.
package struct Manifest: Hashable, Sendable {
  /// The number of the version in its channel.
  package let version: ManifestVersion
  /// The URLs with their entries, sorted by URL.
  package let items: [ManifestItem]

  /// The empty manifest of a new device.
  package static let empty = Manifest(version: .none, sorted: [])

  /// Creates a manifest of items in any order; a duplicate URL is a bug and traps.
  package init(version: ManifestVersion, items: [ManifestItem]) {
    do {
      self.init(version: version, sorted: try items.sortedByKey(\.url.text))
    } catch {
      fatalError("a manifest with one URL twice: \(error)")
    }
  }

  init(version: ManifestVersion, sorted items: [ManifestItem]) {
    self.version = version
    self.items = items
  }

  /// The canonical resourcemap and its digest, computed at each call.
  package var map: ResourceMap { ResourceMap(items) }

  /// The entry of a URL, compared verbatim.
  package subscript(url: ResourceURL) -> Entry? {
    var low = 0
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle].url < url { low = middle + 1 } else { high = middle }
    }
    return low < items.count && items[low].url == url ? items[low].entry : nil
  }

  /// Returns the manifest that a patch leads to.
  ///
  /// - Throws: `base`, if the patch is for another version; `entry`, if it produces an invalid entry; `digest`,
  ///   if the result differs from the origin's. The device then requests the whole manifest.
  package func applying(_ answer: PatchAnswer) throws(ManifestMismatch) -> Manifest {
    guard answer.base == version else { throw .base(expected: answer.base, held: version) }
    var result: [ManifestItem] = []
    result.reserveCapacity(items.count + answer.changes.count)
    try SortedPairs.walk(items, answer.changes, keyA: \.url.text, keyB: \.url.text) {
      (item, change) throws(ManifestMismatch) in
      guard let change else { return item.map { result.append($0) } ?? () }
      if change.value.isNull { return }
      result.append(ManifestItem(url: change.url, entry: try Self.entry(change, on: item?.entry)))
    }
    let manifest = Manifest(version: answer.version, sorted: result)
    try manifest.check(answer.digest)
    return manifest
  }

  private static func entry(
    _ change: ManifestChange, on old: Entry?
  ) throws(ManifestMismatch) -> Entry {
    do {
      return try Entry(json: MergePatch.apply(change.value, to: old?.json ?? .null))
    } catch {
      throw .entry(change.url, error)
    }
  }

  /// Checks that the resourcemap has this digest.
  func check(_ digest: SHA256) throws(ManifestMismatch) {
    let actual = map.digest
    guard actual == digest else { throw .digest(expected: digest, actual: actual) }
  }
}

/// A URL in a resourcemap, with its entry.
package struct ManifestItem: Hashable, Sendable {
  /// The resource's URL.
  package let url: ResourceURL
  /// What the manifest says about it.
  package let entry: Entry

  package init(url: ResourceURL, entry: Entry) {
    self.url = url
    self.entry = entry
  }
}

/// Why an answer doesn't lead to the manifest that it names.
package enum ManifestMismatch: Error, Hashable, Sendable {
  case base(expected: ManifestVersion, held: ManifestVersion)
  case digest(expected: SHA256, actual: SHA256)
  case entry(ResourceURL, JSONError)
}
