/// Times as the API writes them (RFC 3339, UTC, to the millisecond): `2026-11-20T15:17:27.000Z`.
package enum Timestamp {
  /// Formats milliseconds since 1970.
  package static func text(_ milliseconds: Int64) -> String {
    let second = wholeSeconds(milliseconds)
    // The start of the smallest moments' second doesn't fit in Int64; with wrapping arithmetic the difference still does.
    let fraction = String(milliseconds &- second &* 1000)
    let zeros = String(repeating: "0", count: 3 - fraction.utf8.count)
    return "\(CivilTime(seconds: second).text.dropLast()).\(zeros)\(fraction)Z"
  }

  /// Formats milliseconds since 1970 for people: `2026-11-20 15:17:27 UTC`.
  package static func words(_ milliseconds: Int64) -> String {
    let text = CivilTime(seconds: wholeSeconds(milliseconds)).text
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + " UTC"
  }

  /// Parses a time with its offset, such as `2026-11-19T14:05+08:00` or `2026-11-19T06:05:00.250Z`, to milliseconds since 1970.
  ///
  /// Accepts RFC 3339, except that seconds are optional unless `needsSeconds`; digits beyond milliseconds are dropped. Returns
  /// nil for anything else, including a time without an offset: it would mean something else on another machine.
  package static func parse(_ text: String, needsSeconds: Bool = false) -> Int64? {
    var reader = Reader(rest: Array(text.utf8)[...])
    guard let day = reader.day(), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), hour < 24, minute < 60,
      !needsSeconds || reader.rest.first == UInt8(ascii: ":"), let millisecond = reader.seconds(),
      let offset = reader.offset(), reader.rest.isEmpty
    else { return nil }
    return (day + Int64(hour * 3600 + minute * 60 - offset)) * 1000 + Int64(millisecond)
  }

  /// Returns the second that contains a moment, also before 1970.
  package static func wholeSeconds(_ milliseconds: Int64) -> Int64 {
    milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ digits: Int) -> Int? {
      guard rest.count >= digits, rest.prefix(digits).allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
      defer { rest.removeFirst(digits) }
      return rest.prefix(digits).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Reads a date; returns its start in UTC, in seconds since 1970.
    mutating func day() -> Int64? {
      guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else {
        return nil
      }
      return CivilTime.seconds(year: year, month: month, day: day)
    }

    /// Reads the seconds; returns the milliseconds within the minute.
    mutating func seconds() -> Int? {
      guard take(":") else { return 0 }
      guard let second = number(2), second < 60 else { return nil }
      guard take(".") else { return second * 1000 }
      let digits = rest.prefix { $0 &- 0x30 < 10 }
      guard !digits.isEmpty else { return nil }
      rest.removeFirst(digits.count)
      let padded = (Array(digits) + [0x30, 0x30]).prefix(3)
      return second * 1000 + padded.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Reads the offset; returns seconds east of UTC.
    mutating func offset() -> Int? {
      if take("Z") || take("z") { return 0 }
      let isEast = take("+")
      guard isEast || take("-"), let hour = number(2), take(":"), let minute = number(2), hour < 24,
        minute < 60
      else { return nil }
      return (isEast ? 1 : -1) * (hour * 3600 + minute * 60)
    }
  }
}
