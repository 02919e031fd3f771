import Synchronization
import System

/// A value that changes rarely and is read on every request, without locking.
///
/// A reader keeps the value and its edition number; while that is unchanged, a read costs one atomic load. A change is seen
/// by every read that begins after `update` has returned.
package final class Published<Value: Sendable>: Sendable {
  /// Is told of a change.
  package typealias Observer = @Sendable (_ before: Value, _ after: Value) -> Void

  private let value: Locked<Value>
  private let observer = Locked<Observer?>(nil)
  fileprivate let edition = Atomic<Int>(0)

  package init(_ value: Value) {
    self.value = Locked(value)
  }

  /// The current value; takes the lock.
  package var current: Value { value.withLock { $0 } }

  /// Changes the value; changes are serialized.
  package func update<R: Sendable, Failure: Error>(
    _ change: (inout Value) throws(Failure) -> R
  ) throws(Failure) -> R {
    let (result, before, after) = try value.withLock { (value) throws(Failure) -> (R, Value, Value) in
      var next = value
      let result = try change(&next)
      let before = value
      value = next
      edition.add(1, ordering: .releasing)
      return (result, before, next)
    }
    // Outside the lock, which readers wait for: all that is promised is that reads see the change by now.
    observer.withLock { $0 }?(before, after)
    return result
  }

  /// Has `observer` called after each change, on the thread that made it; it should return soon. Of two changes at once, either may be
  /// told first.
  package func observe(_ observer: @escaping Observer) { self.observer.withLock { $0 = observer } }

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

  /// The edition of the newest value: while it is unchanged, so is everything derived from the value.
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

  /// The newest value, borrowed rather than copied; one atomic load if nothing changed.
  package var current: Value {
    mutating _read {
      refresh()
      yield copy
    }
  }
}
