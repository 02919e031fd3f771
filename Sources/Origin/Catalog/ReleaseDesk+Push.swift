import Manifests
import Store

extension ReleaseDesk {
  /// Commits, after the files were pushed where that is asked for.
  func pushing<Outcome>(
    _ commit: (_ check: @escaping (PreparedRelease) throws(StoreError) -> Void) throws(StoreError) -> Outcome
  ) throws(StoreError) -> Outcome {
    guard let push else { return try commit { (_) in } }
    return try push.ahead(of: commit)
  }

  /// Runs an act; one whose files can't be pushed is staged.
  /// - Parameter act: asks what it is given whether it is still wanted, inside the transaction.
  func staging<Outcome>(
    _ scope: StagedReleases.Scope, isDryRun: Bool,
    _ act: @escaping @Sendable (@escaping @Sendable () -> Bool) throws(StoreError) -> Outcome,
    version: @escaping @Sendable (Outcome) -> ManifestVersion
  ) throws(StoreError) -> Outcome {
    do throws(StoreError) {
      let outcome = try act { true }
      // Also where nothing changed: what is live is what was asked for last.
      if !isDryRun { staged.drop(scope) }
      return outcome
    } catch {
      if case .pushFailed = error, !isDryRun {
        staged.add(scope) { [staged] (id) throws(StoreError) in version(try act { staged.isStaged(id) }) }
      }
      throw error
    }
  }
}

extension ReleaseRequest {
  /// What it replaces.
  var scope: StagedReleases.Scope {
    StagedReleases.Scope(app: app, channel: channel, bundles: Set(bundles.map(\.name)))
  }
}
