extension HTTPDate {
  /// The date that `text` spells in any of the three forms of RFC 9110 §5.6.7; nil for anything else.
  ///
  /// - Parameter now: seconds since 1970, by which a two-digit year is placed: at most 50 years ahead.
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

  /// ` 06 Nov 1994 08:49:37 GMT`
  private static func fixdate(_ text: RawSpan) -> HTTPDate? {
    guard text.byteCount == 25, text[3] == 0x20, text[7] == 0x20, text[12] == 0x20,
      text.extracting(21..<25).equals(" GMT"), let day = number(text, 1, 2), let month = month(text, 4),
      let year = number(text, 8, 4), let time = time(text, 13)
    else { return nil }
    return date(year, month, day, time)
  }

  /// ` 06-Nov-94 08:49:37 GMT`
  private static func rfc850(_ text: RawSpan, now: Int64) -> HTTPDate? {
    guard text.byteCount == 23, text[3] == 0x2D, text[7] == 0x2D, text[10] == 0x20,
      text.extracting(19..<23).equals(" GMT"), let day = number(text, 1, 2), let month = month(text, 4),
      let short = number(text, 8, 2), let time = time(text, 11)
    else { return nil }
    // A year that seems over 50 years ahead is the latest past one with the same last two digits.
    let current = civil(now / 86_400).year
    var year = current / 100 * 100 + short
    if year > current + 50 { year -= 100 }
    return date(year, month, day, time)
  }

  /// `Sun Nov  6 08:49:37 1994`
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

  /// `08:49:37` at `start`; a leap second counts as the one before it.
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
