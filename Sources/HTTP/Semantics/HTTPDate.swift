/// A point in time to the second, as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
  /// Seconds since 1970-01-01T00:00:00Z.
  package let seconds: Int64

  package init(_ seconds: Int64) { self.seconds = seconds }

  package static func < (a: HTTPDate, b: HTTPDate) -> Bool { a.seconds < b.seconds }

  static let days: [String] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  static let months: [String] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The day number of a date in the Gregorian calendar, 0 for 1970-01-01.
  ///
  /// Source: H. Hinnant, "chrono-compatible low-level date algorithms", days_from_civil.
  static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// The date of a day number; the inverse of `dayNumber`.
  static func civil(_ number: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = number + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

extension HTTPDate: CustomStringConvertible {
  /// The IMF-fixdate; years outside 0–9999 are clamped to them.
  package var description: String {
    let clamped = min(max(seconds, -62_167_219_200), 253_402_300_799)
    let dayNumber = clamped >= 0 ? clamped / 86_400 : (clamped - 86_399) / 86_400
    let time = clamped - dayNumber * 86_400
    let (year, month, day) = HTTPDate.civil(dayNumber)
    let weekday = Int(((dayNumber % 7) + 7) % 7)
    return HTTPDate.days[weekday] + ", " + padded(day, 2) + " " + HTTPDate.months[Int(month) - 1] + " "
      + padded(year, 4) + " " + padded(time / 3600, 2) + ":" + padded(time / 60 % 60, 2) + ":"
      + padded(time % 60, 2) + " GMT"
  }

  private func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
  }
}
