import Libc

/// A date of the Gregorian calendar and the time of that day.
package struct CivilTime: Hashable, Sendable {
  /// The month and day count from 1.
  package let year, month, day: Int
  /// Each counts from 0.
  package let hour, minute, second: Int

  /// The first and the last second, since 1970, of the years that have four digits; others are taken for these.
  private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

  /// In UTC.
  ///
  /// - Parameter seconds: since 1970-01-01T00:00:00Z.
  package init(seconds: Int64) {
    var time = time_t(min(max(seconds, Self.range.lowerBound), Self.range.upperBound))
    var parts = tm()
    gmtime_r(&time, &parts)
    self.init(parts)
  }

  /// In the machine's time zone.
  package static func local(seconds: Int64) -> CivilTime {
    var time = time_t(min(max(seconds, range.lowerBound), range.upperBound))
    var parts = tm()
    localtime_r(&time, &parts)
    return CivilTime(parts)
  }

  /// Seconds since 1970 at the begin of a day in UTC; nil where no month has that day.
  package static func seconds(year: Int, month: Int, day: Int) -> Int64? {
    guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
    var parts = tm()
    parts.tm_year = Int32(year - 1900)
    parts.tm_mon = Int32(month - 1)
    parts.tm_mday = Int32(day)
    let seconds = Int64(timegm(&parts))
    // timegm(3) takes 30 February for a day of March.
    return parts.tm_mday == day ? seconds : nil
  }

  private init(_ parts: tm) {
    (year, month, day) = (Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday))
    (hour, minute, second) = (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
  }

  /// As RFC 3339 writes a time in UTC to the second: `2026-12-01T00:00:00Z`.
  package var text: String {
    let date = "\(Self.pad(year, 4))-\(Self.pad(month, 2))-\(Self.pad(day, 2))"
    return "\(date)T\(Self.pad(hour, 2)):\(Self.pad(minute, 2)):\(Self.pad(second, 2))Z"
  }

  private static func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}
