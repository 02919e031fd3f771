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
    return .done(try store.zipDeltas(channel, from: from, to: to))
  }
}
