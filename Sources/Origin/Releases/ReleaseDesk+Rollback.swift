import Manifests
import Store

extension ReleaseDesk {
  /// Brings an older version's content back; when this returns, every poll that begins sees it.
  /// - Throws: `pushFailed`: then it is staged, and tried again by itself.
  func rollback(
    _ request: RollbackInput, by caller: AccessToken, record: AnswerRecord<RollbackOutcome>? = nil
  ) throws(StoreError) -> RollbackOutcome {
    let scope = StagedReleases.Scope(
      app: request.app, channel: request.channel, bundles: request.bundle.map { [$0] })
    return try staging(scope, by: caller, isDryRun: request.dryRun) { (checkWanted) throws(StoreError) in
      try self.commit(request, scope, checkWanted, record)
    } version: {
      $0.release.version
    }
  }

  private func commit(
    _ request: RollbackInput, _ scope: StagedReleases.Scope, _ checkWanted: @escaping CheckWanted,
    _ record: AnswerRecord<RollbackOutcome>?
  ) throws(StoreError) -> RollbackOutcome {
    // Written by `digest`, read by `committed`, both on this thread and in that order.
    var next = ManifestMap.empty
    return try pushing { (check) throws(StoreError) in
      try store.rollback(
        request,
        digest: { (prepared) throws(StoreError) in
          try checkWanted()
          // Guarantee 6: what it brings back answers at the public URL before anybody is told of it.
          try check(prepared)
          next = self.map(after: prepared)
          return next.digest
        },
        committed: {
          staged.drop(scope)
          show($0, next)
        }, record: record)
    }
  }
}
