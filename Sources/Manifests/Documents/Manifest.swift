import System

/// A manifest as a device holds it: a version, and its entries sorted by URL.
package struct Manifest: Hashable, Sendable {
  /// Its number in the channel.
  package let version: ManifestVersion
  /// Its lines, sorted by URL.
  package let items: [ManifestItem]

  /// Nothing at all, what a new device has.
  package static let empty = Manifest(version: .none, sorted: [])

  /// Takes items in any order; a URL that comes twice is a bug and traps.
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

  /// The canonical resourcemap and its digest, made anew at each call.
  package var map: ResourceMap { ResourceMap(items) }

  /// The entry of a URL, compared as written.
  package subscript(url: ResourceURL) -> Entry? {
    var low = 0
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle].url < url { low = middle + 1 } else { high = middle }
    }
    return low < items.count && items[low].url == url ? items[low].entry : nil
  }

  /// The manifest that a patch leads to.
  ///
  /// - Throws: `base` where the patch is for another version; `entry` where it makes something that is no
  ///   entry; `digest` where the result isn't what the origin has. The device then asks for the whole.
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

  /// Passes when the resourcemap has this digest.
  func check(_ digest: SHA256) throws(ManifestMismatch) {
    let actual = map.digest
    guard actual == digest else { throw .digest(expected: digest, actual: actual) }
  }
}

/// One line of a resourcemap.
package struct ManifestItem: Hashable, Sendable {
  /// The resource's URL.
  package let url: ResourceURL
  /// What it is, and where its bytes are.
  package let entry: Entry

  package init(url: ResourceURL, entry: Entry) {
    self.url = url
    self.entry = entry
  }
}

/// Why an answer doesn't lead to the manifest that it promises.
package enum ManifestMismatch: Error, Hashable, Sendable {
  case base(expected: ManifestVersion, held: ManifestVersion)
  case digest(expected: SHA256, actual: SHA256)
  case entry(ResourceURL, JSONError)
}
