import Manifests
import Store
import System

/// Removes purged bytes wherever they lie, and tries again what failed.
final class PurgeService: Sendable {
  private let store: Store
  private let push: ReleasePush?
  private let unannounced: UnannouncedFiles
  private let log: @Sendable (String) -> Void
  private let state = Locked(State())

  private struct State {
    /// Whether a thread is at it.
    var isBusy = false
    /// When what is left was last tried without success, in monotonic nanoseconds.
    var failedAt: UInt64?

    func isDue(at now: UInt64) -> Bool {
      !isBusy && failedAt.map { now &- $0 >= PurgeService.nanosecondsBetweenAttempts } ?? true
    }
  }

  private static let nanosecondsBetweenAttempts: UInt64 = 60_000_000_000

  init(
    store: Store, push: ReleasePush?, unannounced: UnannouncedFiles, log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.push = push
    self.unannounced = unannounced
    self.log = log
  }

  /// Notes what was pushed for releases that weren't made, or not yet, and has purged bytes.
  func noteUnannounced(_ sha256: SHA256) throws(StoreError) {
    try store.notePurged(unannounced.urls(with: sha256), with: sha256)
  }

  /// The same for a release that was refused since its bytes were purged meanwhile: it is removed in some seconds.
  func noteRefused(_ purges: [Purge]) {
    do throws(StoreError) {
      for purge in purges { try noteUnannounced(purge.sha256) }
    } catch {
      log("error: it can't be recorded that purged bytes were pushed: \(error); purge them once more")
    }
  }

  /// Begins to do what earlier purges left, if there is anything; called every few seconds. On a thread of its own: the place of
  /// pushed files may take minutes to fail.
  func finishIfDue() {
    guard state.withLock({ $0.isDue(at: Clock.monotonicNanoseconds()) }) else { return }
    do {
      if try store.unfinishedPurges().isEmpty { return }
      state.withLock { $0.isBusy = true }
      _ = try OSThread(name: "purge") { [self] in
        OSThread.lowerPriority(to: .awaited)
        finish()
      }
    } catch {
      failed(error)
    }
  }

  /// Does what earlier purges left.
  func finish() {
    do throws(StoreError) {
      for sha256 in try store.unfinishedPurges() {
        try store.removeFiles(of: sha256)
        try withdraw(sha256)
        try store.endPurge(sha256)
        log("the rest of the purged bytes \(sha256) is removed")
      }
      state.withLock { $0 = State() }
    } catch {
      failed(error)
    }
  }

  private func failed(_ error: any Error) {
    state.withLock { $0 = State(failedAt: Clock.monotonicNanoseconds()) }
    log("error: purged bytes are still being removed: \(error)")
  }

  /// Removes what was pushed of purged bytes, or of what was made of them.
  /// - Throws: `notWithdrawn`.
  func withdraw(_ sha256: SHA256) throws(StoreError) {
    guard let push else { return }
    do throws(StoreError) {
      try push.withdraw(try store.purgePlan(sha256).earlier)
    } catch .pushFailed(let place, let reason) {
      throw .notWithdrawn(place: place, reason: reason)
    }
  }
}
