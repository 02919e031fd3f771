/// Counters as text: decimal digits in canonical form.
package enum Decimal {
  /// "All numbers are integers from 0 to 2^53−1": every JSON reader represents them exactly, and adding one never
  /// overflows.
  package static let limit: Int64 = 1 << 53 - 1

  /// Parses a number; nil if the text is empty, has a sign or leading zeros, or is above `limit`.
  package static func parse(_ digits: some Sequence<UInt8>) -> Int64? {
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
  package static func parse(_ bytes: RawSpan, _ range: Range<Int>) -> Int64? {
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
