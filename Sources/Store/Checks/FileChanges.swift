import Synchronization
import System

/// Tells those who keep files open that one of them is no longer what is to be answered from, and counts why.
package final class FileChanges: Sendable {
  private let editions = Atomic<Int>(0)
  private let listeners = Locked<[@Sendable () -> Void]>([])
  private let blobs = Atomic<Int>(0)
  private let derived = Atomic<Int>(0)

  /// Nothing changed yet, and nobody is told.
  package init() {}

  /// Another number after each change: what was opened under an older one may be a bad file.
  package var edition: Int { editions.load(ordering: .acquiring) }

  /// Blobs, and files under `derived/`, that were found bad since the start.
  package var found: (blobs: Int, derived: Int) {
    (blobs.load(ordering: .relaxed), derived.load(ordering: .relaxed))
  }

  /// Calls `listener` after each change, on the thread that made it, for good.
  package func subscribe(_ listener: @escaping @Sendable () -> Void) {
    listeners.withLock { $0.append(listener) }
  }

  /// A blob's file was set aside, or found missing.
  func blobIsBad() {
    blobs.add(1, ordering: .relaxed)
    changed()
  }

  /// A file under `derived/` was found with other bytes, and removed.
  func derivedIsBad() {
    derived.add(1, ordering: .relaxed)
    changed()
  }

  /// A file has other bytes from now on, or is gone.
  package func changed() {
    editions.add(1, ordering: .acquiringAndReleasing)
    for listener in listeners.withLock({ $0 }) { listener() }
  }
}
