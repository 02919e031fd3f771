/// A moment as documents write it (RFC 3339, in UTC, to the second): `2026-12-01T00:00:00Z`.
package struct Instant: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Since 1970.
  package let seconds: Int64

  package init(seconds: Int64) { self.seconds = seconds }

  /// The second in which a moment lies; `milliseconds` since 1970.
  package init(milliseconds: Int64) { seconds = Self.floorDivide(milliseconds, 1000) }

  package var milliseconds: Int64 { seconds * 1000 }

  package static func < (a: Instant, b: Instant) -> Bool { a.seconds < b.seconds }

  package var description: String { text }

  package var text: String {
    let days = Self.floorDivide(seconds, 86_400)
    let second = seconds - days * 86_400
    let (year, month, day) = Self.date(days)
    let time = "\(Self.pad(second / 3600, 2)):\(Self.pad(second / 60 % 60, 2)):\(Self.pad(second % 60, 2))"
    return "\(Self.pad(year, 4))-\(Self.pad(month, 2))-\(Self.pad(day, 2))T\(time)Z"
  }

  /// Reads an RFC 3339 time, an offset and fractions of a second included; nil for anything else.
  package init?(_ text: String) {
    var reader = Reader(rest: Array(text.utf8)[...])
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
      let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
      let second = reader.number(2), reader.skipFraction(), let offset = reader.offset(), reader.rest.isEmpty,
      (1...12).contains(month), hour < 24, minute < 60, second < 60
    else { return nil }
    let days = Self.days(year, month, day)
    guard Self.date(days) == (year, month, day) else { return nil }
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Character) -> Bool {
      guard let byte = character.asciiValue, rest.first == byte else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ digits: Int) -> Int64? {
      guard rest.count >= digits, rest.prefix(digits).allSatisfy(ASCII.isDigit) else { return nil }
      defer { rest.removeFirst(digits) }
      return rest.prefix(digits).reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    mutating func skipFraction() -> Bool {
      guard take(".") else { return true }
      let digits = rest.prefix(while: ASCII.isDigit).count
      rest.removeFirst(digits)
      return digits > 0
    }

    /// Seconds east of UTC.
    mutating func offset() -> Int64? {
      if take("Z") || take("z") { return 0 }
      let isEast = take("+")
      guard isEast || take("-"), let hour = number(2), take(":"), let minute = number(2), hour < 24,
        minute < 60
      else { return nil }
      return (isEast ? 1 : -1) * (hour * 3600 + minute * 60)
    }
  }

  // H. Hinnant, "chrono-compatible low-level date algorithms": civil_from_days and days_from_civil.
  private static func date(_ days: Int64) -> (Int64, Int64, Int64) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = floorDivide(year, 400)
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((b - 1 - a) / b) }

  private static func pad(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
