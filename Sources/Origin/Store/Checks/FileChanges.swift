import Synchronization
import System

/// Tells those who keep files open that a file was replaced or found bad, and counts bad files.
package final class FileChanges: Sendable {
  private let editions = Atomic<Int>(0)
  private let listeners = Locked<[@Sendable () -> Void]>([])
  private let blobs = Atomic<Int>(0)
  private let derived = Atomic<Int>(0)

  /// Creates an instance without listeners.
  package init() {}

  /// A number that differs after each change; what was opened under an older one may be a bad file.
  package var edition: Int { editions.load(ordering: .acquiring) }

  /// The number of blobs, and of files under `derived/`, that were found bad since the start.
  package var found: (blobs: Int, derived: Int) {
    (blobs.load(ordering: .relaxed), derived.load(ordering: .relaxed))
  }

  /// Calls `listener` after each change, on the thread that made it. There is no way to unsubscribe.
  package func subscribe(_ listener: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.append(listener) }
  }

  /// Notes that a blob's file was moved to quarantine or found missing.
  func blobIsBad() {
    blobs.add(1, ordering: .relaxed)
    changed()
  }

  /// Notes that a file under `derived/` had wrong bytes and was removed.
  func derivedIsBad() {
    derived.add(1, ordering: .relaxed)
    changed()
  }

  /// Notes that a file was replaced or removed.
  package func changed() {
    editions.add(1, ordering: .acquiringAndReleasing)
    for listener in listeners.withLock({ $0 }) { listener() }
  }
}
