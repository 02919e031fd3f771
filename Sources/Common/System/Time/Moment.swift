/// A moment, to the millisecond.
package struct Moment: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970.
  package let milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  package static func < (a: Moment, b: Moment) -> Bool { a.milliseconds < b.milliseconds }
}
