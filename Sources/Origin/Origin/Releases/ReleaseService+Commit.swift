import Manifests
import Store
import System

/// An act of the store that makes a release, with what has to be known to push, stage and show it.
struct StoreAct<Outcome>: Sendable {
  /// Runs the act: it calls `digest` for each version inside its transaction, and `committed` right after it.
  typealias Run =
    @Sendable (
      _ digest: @escaping (PreparedRelease) throws(StoreError) -> SHA256,
      _ committed: (ReleaseOutcome) -> Void
    ) throws(StoreError) -> Outcome

  /// What it replaces.
  let scope: StagedReleases.Scope
  /// The token of the request.
  let caller: AccessToken?
  let isDryRun: Bool
  /// Returns the version that an outcome is about.
  let version: @Sendable (Outcome) -> ManifestVersion
  let run: Run
}

extension ReleaseService {
  /// Called inside a commit's transaction for each version; if it throws, nothing is changed.
  typealias CommitCheck = (PreparedRelease) throws(StoreError) -> Void

  /// Attempts a commit.
  typealias CommitAttempt<Outcome> = (_ check: @escaping CommitCheck) throws(StoreError) -> Outcome

  /// Pushes the files that a release names, runs the act that makes it, and shows it to polls.
  /// - Throws: `pushFailed`: the act is then staged, and retried automatically.
  func commit<Outcome>(
    _ scope: StagedReleases.Scope, by caller: AccessToken?, isDryRun: Bool,
    version: @escaping @Sendable (Outcome) -> ManifestVersion, _ run: @escaping StoreAct<Outcome>.Run
  ) throws(StoreError) -> Outcome {
    let act = StoreAct(scope: scope, caller: caller, isDryRun: isDryRun, version: version, run: run)
    if isDryRun { return try attempt(act) }
    try readManifests(of: scope)
    do throws(StoreError) {
      let outcome = try attempt(act)
      // Also if nothing changed: what is live is what was asked for last.
      staged.drop(scope)
      return outcome
    } catch {
      if case .pushFailed = error { stage(act, error) }
      throw error
    }
  }

  /// Reads a manifest that isn't in memory before the act, for which others wait.
  private func readManifests(of scope: StagedReleases.Scope) throws(StoreError) {
    guard let channel = catalog.current.channel(scope.app, scope.channel) else { return }
    for state in channel.answered { _ = try builder.map(of: state) }
  }

  /// Has an act tried again until its files are pushed, or another one replaces it.
  private func stage<Outcome>(_ act: StoreAct<Outcome>, _ error: StoreError) {
    staged.add(act.scope, by: act.caller?.name ?? RolloutWatch.actor.name, at: store.now, error) {
      (id) throws(StoreError) in
      // Also if the act has nothing to push.
      if let caller = act.caller { try self.store.checkInUse(caller) }
      return act.version(try self.attempt(act, staged: id))
    }
  }

  /// Pushes an act's files and runs it.
  ///
  /// Pushing may take minutes, and staged acts may wait for days: a token that ends meanwhile changes nothing any more, and neither
  /// does an act that was replaced. Both are checked inside the transaction, where no token can be revoked.
  /// - Parameter id: the number of a staged act; nil for one that isn't staged.
  private func attempt<Outcome>(_ act: StoreAct<Outcome>, staged id: Int? = nil) throws(StoreError)
    -> Outcome
  {
    let outcome = try commitWithPush { (checkPushed) throws(StoreError) in
      try self.write(act) { (prepared) throws(StoreError) in
        if let id, !self.staged.isStaged(id) { throw .unpushed }
        if let caller = act.caller { try self.store.checkInUse(caller) }
        // Guarantee 6: what the release names is available at the public URL before anybody is told of it.
        try checkPushed(prepared)
      }
    }
    if !act.isDryRun { settle(act.scope.app, act.scope.channel) }
    return outcome
  }

  /// Runs an act in the store, and updates the catalog with what it made.
  private func write<Outcome>(_ act: StoreAct<Outcome>, _ check: @escaping CommitCheck) throws(StoreError)
    -> Outcome
  {
    // Written by `digest`, read by `committed`, in that order: the store finishes the former before it calls the latter.
    var made: [ManifestVersion: ManifestMap] = [:]
    func digest(_ prepared: PreparedRelease) throws(StoreError) -> SHA256 {
      try check(prepared)
      let map = try map(after: prepared, made)
      made[prepared.version] = map
      return map.digest
    }
    return try act.run(digest) { outcome in
      staged.drop(act.scope)
      show(outcome, made)
    }
  }

  /// Returns the manifest that a release leads to.
  /// - Parameter made: the manifests of versions that the same act makes before it.
  func map(after prepared: PreparedRelease, _ made: [ManifestVersion: ManifestMap] = [:]) throws(StoreError)
    -> ManifestMap
  {
    var map = ManifestMap.empty
    if let known = made[prepared.channel.version] {
      map = known
    } else if let channel = catalog.current.channel(id: prepared.channel.id) {
      map = try builder.map(of: channel.newest)
    }
    return map.applying(prepared.changes.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) })
  }
}

extension ReleaseInput {
  /// The scope that the release replaces.
  var scope: StagedReleases.Scope {
    StagedReleases.Scope(app: app, channel: channel, bundles: Set(bundles.map(\.name)))
  }
}
