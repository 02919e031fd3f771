import Manifests
import Store
import Synchronization

extension ReleaseService {
  /// Commits a release after pushing its files, if pushing is configured.
  func commitWithPush<Outcome>(_ attempt: CommitAttempt<Outcome>) throws(StoreError) -> Outcome {
    do throws(StoreError) {
      guard let push else { return try commitWithPack(attempt) }
      return try pushAndCommit(push, attempt)
    } catch {
      if case .purged(let purged) = error { purges.noteRefused(purged) }
      throw error
    }
  }

  private func pushAndCommit<Outcome>(_ push: ReleasePush, _ attempt: CommitAttempt<Outcome>)
    throws(StoreError) -> Outcome
  {
    let (outcome, made) = try push.pushing(
      before: { (checkPushed) throws(StoreError) in try commitPushed(checkPushed, attempt) },
      limiting: limitingPushes,
      after: pushDerived)
    for release in made { notePushed(release) }
    return outcome
  }

  /// Commits a release whose files are pushed, which `checkPushed` verifies.
  private func commitPushed<Outcome>(
    _ checkPushed: @escaping CommitCheck, _ attempt: CommitAttempt<Outcome>
  ) throws(StoreError) -> Outcome {
    try commitWithPack { (checkPack) throws(StoreError) in
      try attempt { (prepared) throws(StoreError) in
        try checkPushed(prepared)
        try checkPack(prepared)
      }
    }
  }

  /// Pushes a release's deltas and pack, which devices can do without.
  private func pushDerived(_ release: PreparedRelease) {
    pushDeltas(release)
    pushPack(release)
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
}
