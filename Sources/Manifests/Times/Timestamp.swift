/// Times as the API writes them (RFC 3339, UTC, to the millisecond): `2026-11-20T15:17:27.000Z`.
package enum Timestamp {
  /// - Parameter milliseconds: since 1970.
  package static func text(_ milliseconds: Int64) -> String {
    let seconds = floorDivide(milliseconds, 1000)
    let (year, month, day) = date(daysSince1970: floorDivide(seconds, 86_400))
    let second = seconds - floorDivide(seconds, 86_400) * 86_400
    let time = "\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))"
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(time).\(pad(milliseconds - seconds * 1000, 3))Z"
  }

  /// The proleptic Gregorian date (H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
  private static func date(daysSince1970 days: Int64) -> (Int64, Int64, Int64) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((b - 1 - a) / b) }

  private static func pad(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
