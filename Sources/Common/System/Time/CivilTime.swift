#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A Gregorian date and a time of day.
package struct CivilTime: Hashable, Sendable {
  /// Month and day count from 1.
  package let year, month, day: Int
  /// Hour, minute and second count from 0.
  package let hour, minute, second: Int

  /// The first and last second, since 1970, of the years with four digits; other times are clamped to it.
  private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

  /// Converts a time to UTC.
  ///
  /// - Parameter seconds: Seconds since 1970-01-01T00:00:00Z.
  package init(seconds: Int64) {
    var time = time_t(min(max(seconds, Self.range.lowerBound), Self.range.upperBound))
    var parts = tm()
    gmtime_r(&time, &parts)
    self.init(parts)
  }

  /// Converts a time to the machine's time zone.
  package static func local(seconds: Int64) -> CivilTime {
    var time = time_t(min(max(seconds, range.lowerBound), range.upperBound))
    var parts = tm()
    localtime_r(&time, &parts)
    return CivilTime(parts)
  }

  /// Returns the start of a day in UTC, in seconds since 1970, or nil if the month has no such day.
  package static func seconds(year: Int, month: Int, day: Int) -> Int64? {
    guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
    var parts = tm()
    parts.tm_year = Int32(year - 1900)
    parts.tm_mon = Int32(month - 1)
    parts.tm_mday = Int32(day)
    let seconds = Int64(timegm(&parts))
    // timegm(3) turns 30 February into a day of March.
    return parts.tm_mday == day ? seconds : nil
  }

  private init(_ parts: tm) {
    (year, month, day) = (Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday))
    (hour, minute, second) = (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
  }

  /// The time as RFC 3339 in UTC, to the second: `2026-12-01T00:00:00Z`.
  package var text: String {
    let date = "\(Self.pad(year, 4))-\(Self.pad(month, 2))-\(Self.pad(day, 2))"
    return "\(date)T\(Self.pad(hour, 2)):\(Self.pad(minute, 2)):\(Self.pad(second, 2))Z"
  }

  private static func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}
