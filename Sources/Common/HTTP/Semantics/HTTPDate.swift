import Backports

/// A time to the second, as in HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
  /// Seconds since 1970-01-01T00:00:00Z.
  package let seconds: Int64

  /// Creates a time from seconds since 1970-01-01T00:00:00Z.
  package init(_ seconds: Int64) { self.seconds = seconds }

  /// Whether `a` is before `b`.
  package static func < (a: HTTPDate, b: HTTPDate) -> Bool { a.seconds < b.seconds }

  static let days: [String] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  static let months: [String] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the day number of a Gregorian date; 1970-01-01 is 0.
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

  /// Returns the date of a day number; the inverse of `dayNumber`.
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
  /// The date as an IMF-fixdate; years outside 0–9999 are clamped.
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

extension HTTPDate {
  /// Parses any of the three forms of RFC 9110 §5.6.7; nil for anything else.
  ///
  /// `now`, in seconds since 1970, places a two-digit year: at most 50 years ahead.
  package init?(_ text: RawSpan, now: Int64) {
    guard let comma = text.firstIndex(of: 0x2C) else {
      guard let date = HTTPDate.asctime(text) else { return nil }
      self = date
      return
    }
    let rest = text.extracting((comma &+ 1)..<text.byteCount)
    guard comma >= 3, rest.byteCount > 0, rest[0] == 0x20 else { return nil }
    let parsed = comma == 3 ? HTTPDate.fixdate(rest) : HTTPDate.rfc850(rest, now: now)
    guard let parsed else { return nil }
    self = parsed
  }

  /// The same, for a date that is text.
  package init?(_ text: String, now: Int64) { self.init(Array(text.utf8).span.bytes, now: now) }

  /// Parses ` 06 Nov 1994 08:49:37 GMT`.
  private static func fixdate(_ text: RawSpan) -> HTTPDate? {
    guard text.byteCount == 25, text[3] == 0x20, text[7] == 0x20, text[12] == 0x20,
      text.extracting(21..<25).equals(" GMT"), let day = number(text, 1, 2), let month = month(text, 4),
      let year = number(text, 8, 4), let time = time(text, 13)
    else { return nil }
    return date(year, month, day, time)
  }

  /// Parses ` 06-Nov-94 08:49:37 GMT`.
  private static func rfc850(_ text: RawSpan, now: Int64) -> HTTPDate? {
    guard text.byteCount == 23, text[3] == 0x2D, text[7] == 0x2D, text[10] == 0x20,
      text.extracting(19..<23).equals(" GMT"), let day = number(text, 1, 2), let month = month(text, 4),
      let short = number(text, 8, 2), let time = time(text, 11)
    else { return nil }
    // A year that appears to be over 50 years ahead is the most recent past one with the same last two digits.
    let current = civil(now / 86_400).year
    var year = current / 100 * 100 + short
    if year > current + 50 { year -= 100 }
    return date(year, month, day, time)
  }

  /// Parses `Sun Nov  6 08:49:37 1994`.
  private static func asctime(_ text: RawSpan) -> HTTPDate? {
    guard text.byteCount == 24, text[3] == 0x20, text[7] == 0x20, text[10] == 0x20, text[19] == 0x20,
      let month = month(text, 4), let year = number(text, 20, 4), let time = time(text, 11),
      let day = text[8] == 0x20 ? number(text, 9, 1) : number(text, 8, 2)
    else { return nil }
    return date(year, month, day, time)
  }

  private static func date(_ year: Int64, _ month: Int64, _ day: Int64, _ time: Int64) -> HTTPDate? {
    let number = dayNumber(year: year, month: month, day: day)
    guard civil(number) == (year, month, day) else { return nil }
    return HTTPDate(number * 86_400 + time)
  }

  /// Parses `08:49:37` at `start`; a leap second counts as the second before it.
  private static func time(_ text: RawSpan, _ start: Int) -> Int64? {
    guard text[start + 2] == 0x3A, text[start + 5] == 0x3A, let hour = number(text, start, 2), hour < 24,
      let minute = number(text, start + 3, 2), minute < 60, let second = number(text, start + 6, 2),
      second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + min(second, 59)
  }

  private static func month(_ text: RawSpan, _ start: Int) -> Int64? {
    let name = text.extracting(start..<start + 3)
    for (index, month) in months.enumerated() where month.utf8.elementsEqual(name.array) {
      return Int64(index + 1)
    }
    return nil
  }

  private static func number(_ text: RawSpan, _ start: Int, _ count: Int) -> Int64? {
    text.extracting(start..<start + count).decimal.map { Int64($0) }
  }
}
