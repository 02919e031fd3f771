import Dispatch
import Manifests
import Store
import System

/// Releases whose files could not be pushed: each is retried until it is visible or another one replaces it.
///
/// They are kept in memory; publishing again after a restart sends nothing twice.
final class StagedReleases: Sendable {
  /// What a release replaces.
  struct Scope: Sendable {
    let app: AppName
    let channel: ChannelName
    /// Nil means all bundles.
    let bundles: Set<BundleName>?

    func overlaps(_ other: Scope) -> Bool {
      guard app == other.app, channel == other.channel else { return false }
      guard let bundles, let others = other.bundles else { return true }
      return !bundles.isDisjoint(with: others)
    }
  }

  private struct State {
    var newest = 0
    var scopes: [Int: Scope] = [:]
  }

  private let state = Locked(State())
  private let log: @Sendable (String) -> Void

  /// Seconds before the first attempt; each further wait doubles, up to the longest.
  private static let waits = (first: 2.0, longest: 300.0)

  init(log: @escaping @Sendable (String) -> Void) { self.log = log }

  func isStaged(_ id: Int) -> Bool { state.withLock { $0.scopes[id] != nil } }

  /// Drops the staged releases that a newer release replaces: they must not come after it.
  func drop(_ scope: Scope) {
    state.withLock { state in state.scopes = state.scopes.filter { !$0.value.overlaps(scope) } }
  }

  /// Stages a release, in place of those that it replaces. `attempt` retries it and returns the version that it made; it
  /// receives the release's number, and must not commit once that is no longer staged.
  func add(_ scope: Scope, _ attempt: @escaping @Sendable (Int) throws(StoreError) -> ManifestVersion) {
    let id = state.withLock { state in
      state.scopes = state.scopes.filter { !$0.value.overlaps(scope) }
      state.newest += 1
      state.scopes[state.newest] = scope
      return state.newest
    }
    log("a release of \(scope.app) \(scope.channel) is staged until its files can be pushed")
    wait(id, scope, Self.waits.first, attempt)
  }

  private func wait(
    _ id: Int, _ scope: Scope, _ seconds: Double,
    _ attempt: @escaping @Sendable (Int) throws(StoreError) -> ManifestVersion
  ) {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds) {
      guard self.isStaged(id) else { return }
      do throws(StoreError) {
        let version = try attempt(id)
        self.end(id)
        self.log("the staged release of \(scope.app) \(scope.channel) is visible: version \(version)")
      } catch {
        if case .pushFailed = error {
          self.wait(id, scope, min(seconds * 2, Self.waits.longest), attempt)
        } else if self.isStaged(id) {
          self.end(id)
          self.log("error: the staged release of \(scope.app) \(scope.channel) is given up: \(error)")
        }
      }
    }
  }

  private func end(_ id: Int) { state.withLock { _ = $0.scopes.removeValue(forKey: id) } }
}
