import Manifests
import Store
import Synchronization

extension ReleaseService {
  /// Commits a release after pushing its files, if pushing is configured.
  func commitWithPush<Outcome>(
    _ commit: (_ check: @escaping (PreparedRelease) throws(StoreError) -> Void) throws(StoreError) -> Outcome
  ) throws(StoreError) -> Outcome {
    do throws(StoreError) {
      guard let push else { return try commitWithPack(commit) }
      let (outcome, made) = try pushing(push, commit)
      for made in made { notePushed(made) }
      return outcome
    } catch {
      if case .purged(let purged) = error { purges.noteRefused(purged) }
      throw error
    }
  }

  private func pushing<Outcome>(
    _ push: ReleasePush,
    _ commit: (_ check: @escaping (PreparedRelease) throws(StoreError) -> Void) throws(StoreError) -> Outcome
  ) throws(StoreError) -> (Outcome, [PreparedRelease]) {
    try push.pushing(
      before: { (check) throws(StoreError) in
        try commitWithPack { (packCheck) throws(StoreError) in
          try commit { (prepared) throws(StoreError) in
            try check(prepared)
            try packCheck(prepared)
          }
        }
      }, limiting: limitingPushes,
      after: { prepared in
        pushDeltas(prepared)
        pushPack(prepared)
      })
  }

  /// Runs a push, unless enough others are running: each may take minutes and occupies an API worker, of which most are for
  /// others.
  private func limitingPushes(_ push: () throws(StoreError) -> Void) throws(StoreError) {
    guard activePushes.add(1, ordering: .relaxed).newValue <= Self.maxPushes else {
      activePushes.subtract(1, ordering: .relaxed)
      throw .tooManyPushes
    }
    defer { activePushes.subtract(1, ordering: .relaxed) }
    try push()
  }

  /// Records what a release that was made has at the place. Otherwise, it is pushed again when it comes back.
  private func notePushed(_ release: PreparedRelease) {
    do throws(StoreError) {
      try store.notePushed(release)
    } catch {
      log("error: what was pushed for \(release.channel.app) \(release.version) can't be recorded: \(error)")
    }
  }

  /// Pushes a release's deltas from the version that it replaces. Without them devices fetch whole files; the backlog tries
  /// again.
  private func pushDeltas(_ release: PreparedRelease) {
    guard let push, release.channel.version != .none else { return }
    do throws(StoreError) {
      let channel = release.channel
      let offers = try DeltaOffers(store: store).unpushed(release.changes, channel, from: channel.version)
      try push.deltas(offers)
      try store.derived.notePushed(offers)
    } catch {
      log(error.message(ofDerivedTo: release.channel, at: release.version))
    }
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
        staged.add(scope, by: caller.name, at: store.now, error) { [staged, store] (id) throws(StoreError) in
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
