/// Counters as text: decimal digits in their one canonical form.
enum Decimal {
  /// "All numbers are integers from 0 to 2^53−1": every JSON reader has them exactly, and one more never overflows.
  static let limit: Int64 = 1 << 53 - 1

  /// The number, or nil where the text is empty, has a sign or leading zeros, or is above `limit`.
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

  /// The same over part of a span.
  static func parse(_ bytes: RawSpan, _ range: Range<Int>) -> Int64? {
    // At most 19 digits: a slice this short is cheaper to walk than to wrap.
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
