import Glibc

/// The two clocks: one for durations, one for dates.
package enum Clock {
  /// Nanoseconds since some moment before the process began; never goes back.
  package static func monotonicNanoseconds() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

  /// Milliseconds since 1970-01-01T00:00:00Z.
  package static func unixMilliseconds() -> Int64 { Int64(nanoseconds(CLOCK_REALTIME) / 1_000_000) }

  /// Seconds since 1970-01-01T00:00:00Z, as of the kernel's last tick: a cheap look for a Date field.
  package static func unixSeconds() -> Int64 { Int64(nanoseconds(CLOCK_REALTIME_COARSE) / 1_000_000_000) }

  private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
