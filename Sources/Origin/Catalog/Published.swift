import Synchronization
import System

/// A value that changes rarely and is read on every request by threads that take no lock for it.
///
/// A reader keeps the value and the number of its edition; as long as the number stands, one atomic load is all
/// that a read costs. A change is seen by every read that begins after `update` has returned.
package final class Published<Value: Sendable>: Sendable {
  private let value: Locked<Value>
  fileprivate let edition = Atomic<Int>(0)

  package init(_ value: Value) {
    self.value = Locked(value)
  }

  /// The value as it is now; takes the lock.
  package var current: Value { value.withLock { $0 } }

  /// Changes the value; changes are made one after another.
  package func update<R: Sendable, Failure: Error>(
    _ change: (inout Value) throws(Failure) -> R
  ) throws(Failure) -> R {
    try value.withLock { (value) throws(Failure) -> R in
      var next = value
      let result = try change(&next)
      value = next
      edition.add(1, ordering: .releasing)
      return result
    }
  }

  fileprivate func read() -> (value: Value, edition: Int) {
    value.withLock { ($0, edition.load(ordering: .relaxed)) }
  }
}

/// One thread's own copy of a `Published` value.
package struct PublishedReader<Value: Sendable> {
  private let source: Published<Value>
  private var copy: Value
  private var edition: Int

  package init(_ source: Published<Value>) {
    self.source = source
    (copy, edition) = source.read()
  }

  /// The number of the newest value's edition: as long as it stands, what was worked out from the value does.
  package var currentEdition: Int {
    mutating get {
      refresh()
      return edition
    }
  }

  @inline(__always)
  private mutating func refresh() {
    if source.edition.load(ordering: .acquiring) != edition { (copy, edition) = source.read() }
  }

  /// The newest value, lent and not copied; one atomic load where nothing changed.
  package var current: Value {
    mutating _read {
      refresh()
      yield copy
    }
  }
}
