import Values

/// A channel's counter: 1, 2, 3, …, or 0 before the first release; below 2^53 when parsed from text.
package struct ManifestVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number of the version.
  package let number: Int64

  /// The version of a channel without a release.
  package static let none = ManifestVersion(0)
  /// The highest version from which a restored channel may continue, which leaves half the range for later
  /// releases.
  package static let restorable = ManifestVersion(1 << 52)

  package init(_ number: Int64) {
    if number < 0 { fatalError("a manifest version is never below 0") }
    self.number = number
  }

  /// Parses decimal digits without sign or leading zeros; nil for anything else, including 2^53 and above.
  package init?(text: some StringProtocol) {
    guard let number = Decimal.parse(text.utf8) else { return nil }
    self.number = number
  }

  package var text: String { String(number) }
  package var description: String { text }

  package static func < (a: ManifestVersion, b: ManifestVersion) -> Bool { a.number < b.number }
}

extension [ManifestVersion] {
  /// The numbers in order, for people: `1, 3–5`.
  package var ranges: String {
    var ranges: [ClosedRange<Int64>] = []
    for number in map(\.number).sorted() {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)–\($0.upperBound)" }
      .joined(separator: ", ")
  }
}
