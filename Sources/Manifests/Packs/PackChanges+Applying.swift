import System

extension PackChanges {
  /// How words of old files are renamed, where `isRenamed` says so.
  /// - Parameter old: the touched entries of the base manifest, in their order.
  package func renaming(old: [ManifestItem]) -> PackRenaming {
    PackRenaming(
      arrivals.lazy.compactMap { arrival in
        arrival.partner.map { (old: old[$0].url.text, new: arrival.url.text) }
      })
  }

  /// The manifest that a pack leads to, unchecked: compare its digest.
  /// - Parameter digests: of each arrival's bytes, in the order of `arrivals`.
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
    for (place, item) in base.items.enumerated() {
      while let found = arrival, found.0.url < item.url {
        try take(found)
        arrival = next.next()
      }
      if gone.first == place {
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
