import System

/// A moment as documents write it (RFC 3339, in UTC, to the second): `2026-12-01T00:00:00Z`.
package struct Instant: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Since 1970.
  package let seconds: Int64

  package init(seconds: Int64) { self.seconds = seconds }

  /// The second in which a moment lies; `milliseconds` since 1970.
  package init(milliseconds: Int64) { seconds = Timestamp.wholeSeconds(milliseconds) }

  /// Reads an RFC 3339 time, an offset and fractions of a second included; nil for anything else.
  package init?(_ text: String) {
    guard let milliseconds = Timestamp.parse(text, needsSeconds: true) else { return nil }
    self.init(milliseconds: milliseconds)
  }

  package var milliseconds: Int64 { seconds * 1000 }

  package var text: String { CivilTime(seconds: seconds).text }

  package var description: String { text }

  package static func < (a: Instant, b: Instant) -> Bool { a.seconds < b.seconds }
}
