import Manifests
import Store
import System

/// Removes purged bytes wherever they lie, and tries again what failed.
final class PurgeService: Sendable {
  private let store: Store
  private let push: ReleasePush?
  private let unannounced: UnannouncedFiles
  private let log: @Sendable (String) -> Void
  /// When what is left was last tried without success, in monotonic nanoseconds.
  private let failedAt = Locked<UInt64?>(nil)

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

  /// Does what earlier purges left; called every few seconds.
  func finish() {
    let now = Clock.monotonicNanoseconds()
    if let failed = failedAt.withLock({ $0 }), now &- failed < Self.nanosecondsBetweenAttempts { return }
    do throws(StoreError) {
      for sha256 in try store.unfinishedPurges() {
        try store.removeFiles(of: sha256)
        try withdraw(sha256)
        try store.endPurge(sha256)
        log("the rest of the purged bytes \(sha256) is removed")
      }
      failedAt.withLock { $0 = nil }
    } catch {
      failedAt.withLock { $0 = now }
      log("error: purged bytes are still being removed: \(error)")
    }
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
