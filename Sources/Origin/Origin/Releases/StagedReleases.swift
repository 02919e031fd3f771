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

  /// A staged release, for people.
  struct Item: Sendable {
    let scope: Scope
    /// The name of whoever made it.
    let author: String
    /// When it was first staged, in milliseconds since 1970.
    fileprivate(set) var since: Int64
    /// Why its files are not at the place, as of the last attempt.
    fileprivate(set) var reason: String
    /// How often it was tried.
    fileprivate(set) var attempts = 1
  }

  private struct State {
    var newest = 0
    var items: [Int: Item] = [:]
    /// The newest of those whose place another one took.
    var replaced: Set<Int> = []

    mutating func replace(_ id: Int) {
      items[id] = nil
      if replaced.count >= StagedReleases.remembered {
        replaced = replaced.filter { $0 > newest - StagedReleases.remembered / 2 }
      }
      replaced.insert(id)
    }
  }

  private static let remembered = 10_000

  private let state = Locked(State())
  private let log: @Sendable (String) -> Void

  /// Seconds before the first attempt; each further wait doubles, up to the longest.
  private static let waits = (first: 2.0, longest: 300.0)

  init(log: @escaping @Sendable (String) -> Void) { self.log = log }

  func isStaged(_ id: Int) -> Bool { state.withLock { $0.items[id] != nil } }

  /// Whether another act took the place of a release that was staged.
  func isReplaced(_ id: Int) -> Bool { state.withLock { $0.replaced.contains(id) } }

  /// The number of the newest staged release of a channel by an author.
  func newest(_ app: AppName, _ channel: ChannelName, by author: String) -> Int? {
    state.withLock { state in
      state.items.filter {
        $0.value.scope.app == app && $0.value.scope.channel == channel && $0.value.author == author
      }
      .keys.max()
    }
  }

  /// All that are staged, oldest first.
  var all: [Item] { state.withLock { state in state.items.sorted { $0.key < $1.key }.map(\.value) } }

  /// Drops the staged releases that a newer release replaces: they must not come after it.
  func drop(_ scope: Scope) {
    for item in take(scope) {
      log(
        "the staged release of \(item.scope.app) \(item.scope.channel) by \(item.author) is dropped: another act has replaced it"
      )
    }
  }

  /// Removes and returns the staged releases that a newer one replaces.
  private func take(_ scope: Scope) -> [Item] {
    state.withLock { state in
      let replaced = state.items.filter { $0.value.scope.overlaps(scope) }
      for id in replaced.keys { state.replace(id) }
      return replaced.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// Stages a release that failed with `error`, in place of those that it replaces. `attempt` retries it and returns the
  /// version that it made; it receives the release's number, and must not commit once that is no longer staged.
  ///
  /// A publisher that sends its release again while the place is down continues the count of the one it replaces.
  /// - Parameter now: milliseconds since 1970.
  func add(
    _ scope: Scope, by author: String, at now: Int64, _ error: StoreError,
    _ attempt: @escaping @Sendable (Int) throws(StoreError) -> ManifestVersion
  ) {
    var item = Item(scope: scope, author: author, since: now, reason: Self.reason(error))
    let id = state.withLock { state in
      for (id, replaced) in state.items where replaced.scope.overlaps(scope) {
        state.replace(id)
        guard replaced.author == author, replaced.scope.bundles == scope.bundles else { continue }
        (item.since, item.attempts) = (replaced.since, replaced.attempts + 1)
      }
      state.newest += 1
      state.items[state.newest] = item
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
        guard self.isStaged(id) else { return }
        if Self.passes(error) {
          self.note(error, of: id)
          self.wait(id, scope, min(seconds * 2, Self.waits.longest), attempt)
        } else {
          self.end(id)
          self.log("error: the staged release of \(scope.app) \(scope.channel) is given up: \(error)")
        }
      }
    }
  }

  /// Whether another attempt may succeed by itself.
  private static func passes(_ error: StoreError) -> Bool {
    switch error {
    case .pushFailed, .tooManyPushes, .unpushed, .diskFull, .frozen: true
    default: false
    }
  }

  private static func reason(_ error: StoreError) -> String {
    guard case .pushFailed(let place, let reason) = error else { return error.description }
    return "its files could not be pushed to \(place): \(reason)"
  }

  private func note(_ error: StoreError, of id: Int) {
    state.withLock { state in
      state.items[id]?.reason = Self.reason(error)
      state.items[id]?.attempts += 1
    }
  }

  private func end(_ id: Int) { state.withLock { _ = $0.items.removeValue(forKey: id) } }
}
