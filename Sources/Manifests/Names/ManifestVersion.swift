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

/// Counters as text: decimal digits in canonical form.
enum Decimal {
  /// "All numbers are integers from 0 to 2^53−1": every JSON reader represents them exactly, and adding one never
  /// overflows.
  static let limit: Int64 = 1 << 53 - 1

  /// Parses a number; nil if the text is empty, has a sign or leading zeros, or is above `limit`.
  static func parse(_ digits: some Sequence<UInt8>) -> Int64? {
    var number: Int64 = 0
    var count = 0
    for byte in digits {
      guard ASCII.isDigit(byte), count == 0 || number > 0 else { return nil }
      let (tens, over) = number.multipliedReportingOverflow(by: 10)
      let (sum, overSum) = tens.addingReportingOverflow(Int64(byte - 0x30))
      guard !over, !overSum else { return nil }
      number = sum
      count += 1
    }
    return count > 0 && number <= limit ? number : nil
  }

  /// Parses a number in part of a span.
  static func parse(_ bytes: RawSpan, _ range: Range<Int>) -> Int64? {
    // At most 19 digits: iterating over so few is cheaper than wrapping them in a sequence.
    guard !range.isEmpty, range.count <= 19 else { return nil }
    var number: Int64 = 0
    for i in range {
      let byte = bytes.unsafeLoad(fromByteOffset: i, as: UInt8.self)
      guard ASCII.isDigit(byte), i == range.lowerBound || number > 0 else { return nil }
      let (tens, over) = number.multipliedReportingOverflow(by: 10)
      let (sum, overSum) = tens.addingReportingOverflow(Int64(byte - 0x30))
      guard !over, !overSum else { return nil }
      number = sum
    }
    return number <= limit ? number : nil
  }
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
