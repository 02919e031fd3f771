extension Timestamp {
  /// Milliseconds since 1970 of a time with its offset: `2026-11-19T14:05+08:00`, `2026-11-19T06:05:00.250Z`.
  ///
  /// RFC 3339, where seconds may be left out; digits beyond milliseconds are dropped. Nil for anything else, a time
  /// without an offset included: it would mean something else on another machine.
  package static func parse(_ text: String) -> Int64? {
    var rest = Array(text.utf8)[...]
    guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
      let day = number(2, &rest), take("T", &rest) || take("t", &rest) || take(" ", &rest),
      let hour = number(2, &rest), take(":", &rest), let minute = number(2, &rest),
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
      let millisecond = seconds(&rest), let offset = offset(&rest), rest.isEmpty
    else { return nil }
    let time = (days(year, month, day) * 1440 + hour * 60 + minute - offset) * 60_000 + millisecond
    // 30 February is read as a day of March; then it isn't what was written.
    let back = Self.text(time + offset * 60_000)
    return back.hasPrefix(text.prefix(10)) ? time : nil
  }

  private static func take(_ character: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private static func number(_ digits: Int, _ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard rest.count >= digits, rest.prefix(digits).allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    defer { rest.removeFirst(digits) }
    return rest.prefix(digits).reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// Milliseconds within the minute.
  private static func seconds(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard take(":", &rest) else { return 0 }
    guard let second = number(2, &rest), second < 60 else { return nil }
    guard take(".", &rest) else { return second * 1000 }
    let digits = rest.prefix { $0 &- 0x30 < 10 }
    guard !digits.isEmpty else { return nil }
    rest.removeFirst(digits.count)
    let padded = (Array(digits) + [0x30, 0x30]).prefix(3)
    return second * 1000 + padded.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  /// Minutes east of UTC.
  private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    if take("Z", &rest) || take("z", &rest) { return 0 }
    let isEast = take("+", &rest)
    guard isEast || take("-", &rest), let hour = number(2, &rest), take(":", &rest),
      let minute = number(2, &rest),
      hour < 24, minute < 60
    else { return nil }
    return (isEast ? 1 : -1) * (hour * 60 + minute)
  }

  /// Days since 1970 (H. Hinnant, "chrono-compatible low-level date algorithms", days_from_civil).
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
