import Manifests
import Platform
import Store

/// Tells which deltas belong into the zip of an update: those that are offered to devices, once all are made.
struct DeltaZipSource: Sendable {
  let store: Store
  let backlog: Backlog

  func deltas(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> ZipDeltas
  {
    if try !store.derived.isDone(channel.id, from: from, to: to), backlog.isBusy(channel.id, at: to) {
      return .pending
    }
    let changes = try store.changes(channel, from: from, to: to)
    let offers = try DeltaOffers(store: store).offers(changes, channel, from: from)
    let targets = Dictionary(
      changes.compactMap { change in change.entry.map { (change.url, $0.sha256) } }
    ) { $1 }
    return .done(
      offers.compactMap { offer in
        targets[offer.url].map { ZipDelta(offer, path: store.derived.deltaFile($0, on: offer.base)) }
      })
  }
}
