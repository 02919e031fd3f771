import System

extension PackChanges {
  /// Returns the renaming of words in old files, for records with `isRenamed`.
  /// - Parameter old: the touched entries of the base manifest, in order.
  package func renaming(old: [ManifestItem]) -> PackRenaming {
    PackRenaming(
      arrivals.lazy.compactMap { arrival in
        arrival.partner.map { (old: old[$0].url.text, new: arrival.url.text) }
      })
  }

  /// Returns the manifest that a pack leads to. The caller must check its digest.
  /// - Parameters:
  ///   - base: the base manifest.
  ///   - version: the version that the pack leads to.
  ///   - digests: the digests of the arrivals' bytes, in the order of `arrivals`.
  package func applied(to base: Manifest, version: ManifestVersion, digests: [FileDigest]) throws(PackFault)
    -> Manifest
  {
    precondition(digests.count == arrivals.count, "each arrival has bytes")
    var items: [ManifestItem] = []
    items.reserveCapacity(base.items.count + arrivals.count)
    var gone = touched[...]
    var next = zip(arrivals, digests).makeIterator()
    var arrival = next.next()
    func take(_ found: (Arrival, FileDigest)) throws(PackFault) {
      guard let entry = found.0.entry(found.1) else { throw .damaged("an entry that can't be one") }
      items.append(ManifestItem(url: found.0.url, entry: entry))
    }
    for (index, item) in base.items.enumerated() {
      while let found = arrival, found.0.url < item.url {
        try take(found)
        arrival = next.next()
      }
      if gone.first == index {
        gone.removeFirst()
        continue
      }
      if let found = arrival, found.0.url == item.url { throw .damaged("an entry that is there already") }
      items.append(item)
    }
    while let found = arrival {
      try take(found)
      arrival = next.next()
    }
    return Manifest(version: version, sorted: items)
  }
}
