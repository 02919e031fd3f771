import Values

/// What orders a bundle's releases: milliseconds since 1970 when it was signed, from 0 to 2^53−1.
package struct Serial: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  package let number: Int64

  /// Below every release that was ever signed; the floor of a bundle without one.
  package static let zero = Serial(unchecked: 0)
  /// The highest one.
  package static let highest = Serial(unchecked: Decimal.limit)

  /// Nil for a number outside the range.
  package init?(_ number: Int64) {
    guard (0...Decimal.limit).contains(number) else { return nil }
    self.number = number
  }

  private init(unchecked number: Int64) { self.number = number }

  package var description: String { String(number) }
  package static func < (a: Serial, b: Serial) -> Bool { a.number < b.number }
}

/// A time in a signed document: milliseconds since 1970, from 0 to 2^53−1.
package struct TrustTime: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The milliseconds.
  package let milliseconds: Int64

  /// Nil for a number outside the range.
  package init?(_ milliseconds: Int64) {
    guard (0...Decimal.limit).contains(milliseconds) else { return nil }
    self.milliseconds = milliseconds
  }

  package var description: String { String(milliseconds) }
  package static func < (a: TrustTime, b: TrustTime) -> Bool { a.milliseconds < b.milliseconds }
}

/// The number of a root: 1, 2, 3, …, below 2^53. It is text wherever it is written, as all versions are.
package struct RootNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  package let number: Int64

  /// The number of an app's first root.
  package static let first = RootNumber(unchecked: 1)

  /// Nil for a number outside the range.
  package init?(_ number: Int64) {
    guard (1...Decimal.limit).contains(number) else { return nil }
    self.number = number
  }

  /// Parses decimal digits without sign or leading zeros; nil for anything else, including 0, 2^53 and above.
  package init?(text: String) {
    guard let number = Decimal.parse(text.utf8) else { return nil }
    self.init(number)
  }

  private init(unchecked number: Int64) { self.number = number }

  /// The number of the root that follows; nil after the highest one.
  package var next: RootNumber? { RootNumber(number + 1) }
  package var text: String { String(number) }
  package var description: String { text }
  package static func < (a: RootNumber, b: RootNumber) -> Bool { a.number < b.number }
}

/// The environment that a root is for, so that staging and production, which have an app's name in common, don't take
/// each other's documents: `[a-z][a-z0-9-]{0,31}`.
package struct TrustEnvironment: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  /// Nil for a text that isn't such a name.
  package init?(_ text: String) {
    guard (1...32).contains(text.utf8.count), let first = text.utf8.first, ASCII.isLower(first),
      text.utf8.allSatisfy({ ASCII.isLower($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "-") })
    else { return nil }
    self.text = text
  }

  package var description: String { text }
}
