import Manifests
import Store
import System

/// Removes purged bytes wherever they lie, and tries again what failed.
final class PurgeService: Sendable {
  private let store: Store
  private let push: ReleasePush?
  private let log: @Sendable (String) -> Void
  private let state = Locked(State())

  private struct State {
    /// Whether a thread is at it.
    var isBusy = false
    /// Whether the place of pushed files was looked through since the server's start: what an ended process had pushed for a release
    /// that it didn't make isn't recorded anywhere.
    var isPlaceChecked = false
    /// When what is left was last tried without success, in monotonic nanoseconds.
    var failedAt: UInt64?

    func isDue(at now: UInt64) -> Bool {
      !isBusy && failedAt.map { now &- $0 >= PurgeService.nanosecondsBetweenAttempts } ?? true
    }
  }

  private static let nanosecondsBetweenAttempts: UInt64 = 60_000_000_000

  init(store: Store, push: ReleasePush?, log: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.push = push
    self.log = log
  }

  /// Notes that a release was refused since its bytes were purged meanwhile: what it had pushed is removed in some seconds.
  func noteRefused(_ purges: [Purge]) {
    do throws(StoreError) {
      try store.reopen(purges.map(\.sha256))
    } catch {
      log("error: it can't be recorded that purged bytes were pushed: \(error); purge them once more")
    }
  }

  /// Begins to do what earlier purges left, if there is anything; called every few seconds. On a thread of its own: the place of
  /// pushed files may take minutes to fail.
  func finishIfDue() {
    guard state.withLock({ $0.isDue(at: Clock.monotonicNanoseconds()) }) else { return }
    do {
      if state.withLock({ $0.isPlaceChecked || push == nil }), try store.unfinishedPurges().isEmpty { return }
      state.withLock { $0.isBusy = true }
      _ = try OSThread(name: "purge") { [self] in
        OSThread.lowerPriority(to: .awaited)
        finish()
      }
    } catch {
      failed(error)
    }
  }

  /// Removes what earlier purges left in the data folder; at the start before anything is answered.
  func removeLeft() {
    do throws(StoreError) {
      try store.removeFiles(of: try store.unfinishedPurges())
    } catch {
      log("error: purged bytes are still being removed: \(error)")
    }
  }

  /// Does what earlier purges left. The data folder first: the place of pushed files may be away, and one purge waits for no other.
  func finish() {
    var fault: StoreError?
    do throws(StoreError) {
      let first = try store.unfinishedPurges()
      try store.removeFiles(of: first)
      do throws(StoreError) { try checkPlace() } catch { fault = error }
      let all = try store.unfinishedPurges()
      // Those that began meanwhile.
      try store.removeFiles(of: all.filter { !first.contains($0) })
      for sha256 in all {
        do throws(StoreError) {
          try withdraw(sha256)
          try store.endPurge(sha256)
          log("the rest of the purged bytes \(sha256) is removed")
        } catch {
          // Lifted meanwhile.
          if case .notPurged = error { continue }
          fault = error
        }
      }
    } catch {
      fault = error
    }
    if let fault { return failed(fault) }
    state.withLock { $0 = State(isPlaceChecked: $0.isPlaceChecked) }
  }

  private func failed(_ error: any Error) {
    state.withLock { state in
      state = State(isPlaceChecked: state.isPlaceChecked, failedAt: Clock.monotonicNanoseconds())
    }
    log("error: what purges left can't be removed yet, and is tried again every minute: \(error)")
  }

  /// Looks once for purged bytes at the place of pushed files; what is there is removed like the rest of a purge.
  private func checkPlace() throws(StoreError) {
    guard let push, !state.withLock({ $0.isPlaceChecked }) else { return }
    let purged = try store.purges().map(\.sha256)
    do throws(StoreError) {
      let found = try purged.isEmpty ? [] : push.find(Set(purged), [])
      if !found.isEmpty { try store.reopen(purged) }
    } catch .pushFailed(let place, let reason) {
      throw .unseenPlace(place: place, reason: reason)
    }
    state.withLock { $0.isPlaceChecked = true }
  }

  /// Removes what was pushed of purged bytes, or of what was made of them. The URLs are noted first: whoever has to purge a CDN may
  /// ask for them later.
  /// - Throws: `notWithdrawn`.
  func withdraw(_ sha256: SHA256) throws(StoreError) {
    guard let push else { return }
    do throws(StoreError) {
      let paths = try push.find([sha256], try store.purgePlan(sha256).earlier)
      // Lifted, and perhaps published again, while the place was listed.
      guard try store.isPurged(sha256) else { throw StoreError.notPurged(sha256) }
      try store.note(pushed: paths, with: sha256)
      try push.remove(paths)
    } catch .pushFailed(let place, let reason) {
      throw .notWithdrawn(place: place, reason: reason)
    }
  }
}
