import Manifests
import Store
import Synchronization

extension ReleaseService {
  /// Commits a release after pushing its files, if pushing is configured.
  func commitWithPush<Outcome>(
    _ commit: (_ check: @escaping (PreparedRelease) throws(StoreError) -> Void) throws(StoreError) -> Outcome
  ) throws(StoreError) -> Outcome {
    guard let push else { return try commitWithPack(commit) }
    // Each push may take minutes and occupies an API worker: most of these are for others.
    guard activePushes.add(1, ordering: .relaxed).newValue <= Self.maxPushes else {
      activePushes.subtract(1, ordering: .relaxed)
      throw .tooManyPushes
    }
    defer { activePushes.subtract(1, ordering: .relaxed) }
    return try push.pushing(before: commit, after: pushPack)
  }

  /// Throws if an act is no longer wanted.
  typealias CheckWanted = @Sendable () throws(StoreError) -> Void

  /// Runs an act; if its files can't be pushed, the act is staged.
  ///
  /// Pushing may take minutes, and staged acts may wait for days: a token that ends meanwhile changes nothing any more.
  /// `act` calls its argument inside the transaction, where no token can be revoked.
  func commitOrStage<Outcome>(
    _ scope: StagedReleases.Scope, by caller: AccessToken, isDryRun: Bool,
    version: @escaping @Sendable (Outcome) -> ManifestVersion,
    _ act: @escaping @Sendable (@escaping CheckWanted) throws(StoreError) -> Outcome
  ) throws(StoreError) -> Outcome {
    do throws(StoreError) {
      let outcome = try act { [store] () throws(StoreError) in try store.checkInUse(caller) }
      // Also if nothing changed: what is live is what was asked for last.
      if !isDryRun { staged.drop(scope) }
      return outcome
    } catch {
      if case .pushFailed = error, !isDryRun {
        staged.add(scope) { [staged, store] (id) throws(StoreError) in
          // Also if the act has nothing to push.
          try store.checkInUse(caller)
          let outcome = try act { () throws(StoreError) in
            guard staged.isStaged(id) else { throw .unpushed }
            try store.checkInUse(caller)
          }
          return version(outcome)
        }
      }
      throw error
    }
  }
}

extension ReleaseInput {
  /// The scope that the release replaces.
  var scope: StagedReleases.Scope {
    StagedReleases.Scope(app: app, channel: channel, bundles: Set(bundles.map(\.name)))
  }
}
