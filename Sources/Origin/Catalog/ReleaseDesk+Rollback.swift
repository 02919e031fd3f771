import Manifests
import Store

extension ReleaseDesk {
  /// Brings an older version's content back; when this returns, every poll that begins sees it.
  func rollback(_ request: RollbackRequest) throws(StoreError) -> RollbackOutcome {
    // Written by `digest`, read by `committed`, both on this thread and in that order.
    var next = ManifestMap.empty
    let outcome = try store.rollback(
      request,
      digest: { (prepared) throws(StoreError) in
        // Guarantee 6: what it brings back answers at the public URL before anybody is told of it.
        try self.push?(prepared)
        next = self.map(after: prepared)
        return next.digest
      },
      committed: { show($0, next) })
    if outcome.release.changed, !request.dryRun, let channel = outcome.release.channel {
      prepare(channel, next, outcome.release)
    }
    return outcome
  }
}
