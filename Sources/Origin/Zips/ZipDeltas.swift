import Manifests
import Store

/// The deltas that belong into the zip of an update.
package enum ZipDeltas: Sendable {
  /// Some are still to be made: the zip waits for them, since it is never made again.
  case pending
  case done([ZipDelta])

  /// Tells them for a channel, the update's base and its version; called on the worker pool.
  package typealias Source =
    @Sendable (ChannelInfo, _ from: ManifestVersion, _ to: ManifestVersion) throws(StoreError) -> ZipDeltas
}

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
