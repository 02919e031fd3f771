import Manifests
import Platform

/// What an answer offers beside its patch: of each new resource the smallest stored delta whose base the device's
/// manifest holds.
package struct DeltaOffers: Sendable {
  private let store: Store

  package init(store: Store) { self.store = store }

  /// The value of `deltas`.
  package func render(_ changes: [EntryChange], _ channel: ChannelInfo, from base: ManifestVersion)
    throws(StoreError) -> [UInt8]
  {
    DeltaOffer.render(try offers(changes, channel, from: base))
  }

  /// Sorted by URL like the changes.
  package func offers(_ changes: [EntryChange], _ channel: ChannelInfo, from base: ManifestVersion)
    throws(StoreError) -> [DeltaOffer]
  {
    let targets = Set(changes.compactMap { $0.entry?.sha256 })
    let pairs = try store.derived.pairs(of: Array(targets)).mapValues { $0.filter { $0.size != nil } }
    let bases = Set(pairs.values.joined().map(\.base))
    if bases.isEmpty { return [] }
    let held = try store.held(bases, channel, at: base)
    var offers: [DeltaOffer] = []
    for change in changes {
      guard let sha256 = change.entry?.sha256,
        let best = pairs[sha256]?.filter({ held.contains($0.base) }).min(by: { $0.size ?? 0 < $1.size ?? 0 }),
        let size = best.size
      else { continue }
      offers.append(
        DeltaOffer(
          url: change.url, base: best.base,
          download: DeltaPath(channel: channel.name, target: sha256, base: best.base)
            .url(publicURL: channel.publicURL), size: size))
    }
    return offers
  }
}
