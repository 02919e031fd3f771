import System

/// A time as people write it: with an offset, relative to now, or by day and hour in the local time zone.
enum TimeArgument {
  /// The accepted forms, for messages.
  static let forms =
    "2026-11-19T14:05+08:00, '2026-11-19 06:05 UTC', '10m ago' (s, m, h, d, w), 'yesterday 14:05', 'today 9:00' or 14:05 (local time)"

  /// Parses a time to milliseconds since 1970, relative to `now`; nil if it has none of these forms.
  static func parse(_ text: String, now: Int64 = Clock.unixMilliseconds()) -> Int64? {
    if let moment = Timestamp.parse(text) { return moment }
    let words = text.lowercased().split(separator: " ").map(String.init)
    switch (words.count, words.first) {
    case (1, "now"): return now
    case (2, let span?) where words[1] == "ago":
      return Arguments.seconds(of: span, in: "smhdw").map { now - $0 * 1000 }
    case (2, "yesterday"): return local(words[1], daysAgo: 1, now)
    case (2, "today"): return local(words[1], daysAgo: 0, now)
    // The format in which this program prints times.
    case (3, let day?) where words[2] == "utc": return Timestamp.parse("\(day)T\(words[1])Z")
    case (1, let time?): return local(time, daysAgo: 0, now)
    default: return nil
    }
  }

  /// Returns the time in the API's format, in UTC.
  ///
  /// If `isWholeSecond`, a time without a fraction means the end of its second. Releases have milliseconds, which tables omit:
  /// the time that `log` prints must select its release, not the one before.
  static func wireText(
    _ text: String, isWholeSecond: Bool = false, now: Int64 = Clock.unixMilliseconds()
  ) -> String? {
    guard let moment = parse(text, now: now) else { return nil }
    let isRelative = text.lowercased().hasSuffix("ago") || text.lowercased() == "now"
    guard isWholeSecond, !isRelative, !text.contains("."), !text.contains(",") else {
      return Timestamp.parse(text) == nil ? Timestamp.text(moment) : text
    }
    let (end, overflow) = moment.addingReportingOverflow(999)
    // A time in the past must stay there: the API refuses times in the future.
    return Timestamp.text(overflow ? moment : moment <= now ? min(end, max(now, moment)) : moment)
  }

  /// Returns the seconds from midnight to `14:05` or `14:05:30`.
  private static func seconds(ofDay time: String) -> Int64? {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard (2...3).contains(parts.count), (1...2).contains(parts[0].utf8.count),
      parts.dropFirst().allSatisfy({ $0.utf8.count == 2 }),
      // `Int` would accept a sign.
      parts.joined().utf8.allSatisfy({ (0x30...0x39).contains($0) }), let hour = Int(parts[0]),
      (0..<24).contains(hour),
      let minute = Int(parts[1]), (0..<60).contains(minute),
      let second = parts.count == 3 ? Int(parts[2]) : 0,
      (0..<60).contains(second)
    else { return nil }
    return Int64(hour * 3600 + minute * 60 + second)
  }

  /// Returns the time at which local clocks showed `14:05` so many days ago.
  private static func local(_ time: String, daysAgo: Int64, _ now: Int64) -> Int64? {
    guard let seconds = seconds(ofDay: time) else { return nil }
    let today = CivilTime.local(seconds: now / 1000)
    guard let start = CivilTime.seconds(year: today.year, month: today.month, day: today.day) else {
      return nil
    }
    return here(start - daysAgo * 86_400 + seconds)
  }

  /// Returns the time, in milliseconds, at which local clocks show `wanted`, which is given in seconds as if it were UTC.
  private static func here(_ wanted: Int64) -> Int64? {
    // Start as if the zone were UTC, and correct by what local clocks show then; twice, for days on which the offset changes.
    var moment = wanted
    for _ in 0..<2 {
      guard let shown = seconds(shownAt: moment) else { return nil }
      moment += wanted - shown
    }
    return moment * 1000
  }

  /// Returns what local clocks show at a time, as if it were UTC.
  private static func seconds(shownAt moment: Int64) -> Int64? {
    let shown = CivilTime.local(seconds: moment)
    return CivilTime.seconds(year: shown.year, month: shown.month, day: shown.day).map {
      $0 + Int64(shown.hour * 3600 + shown.minute * 60 + shown.second)
    }
  }
}
