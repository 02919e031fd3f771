#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The clocks for durations and for dates.
package enum Clock {
  /// Returns nanoseconds since an arbitrary moment before the process started; never goes back.
  package static func monotonicNanoseconds() -> UInt64 {
    let time = now(CLOCK_MONOTONIC)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  private static let continuousStart = ContinuousClock.now

  /// Returns milliseconds since an arbitrary moment in the process's life, including system sleep; never goes back.
  package static func continuousMilliseconds() -> Int64 {
    let time = continuousStart.duration(to: .now).components
    return time.seconds &* 1000 &+ time.attoseconds / 1_000_000_000_000_000
  }

  /// Returns the same in nanoseconds.
  package static func continuousNanoseconds() -> UInt64 {
    let time = continuousStart.duration(to: .now).components
    return UInt64(time.seconds) &* 1_000_000_000 &+ UInt64(time.attoseconds / 1_000_000_000)
  }

  private static let suspendingStart = SuspendingClock.now

  /// Returns how long the system has slept in the process's life, in milliseconds.
  package static func sleptMilliseconds() -> Int64 {
    let time = suspendingStart.duration(to: .now).components
    let awake = time.seconds &* 1000 &+ time.attoseconds / 1_000_000_000_000_000
    return max(0, continuousMilliseconds() - awake)
  }

  /// Returns milliseconds since 1970-01-01T00:00:00Z.
  package static func unixMilliseconds() -> Int64 {
    let time = now(CLOCK_REALTIME)
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
  }

  /// Returns the processor time that the process has used, in seconds.
  static func processorSeconds() -> Double {
    let time = now(CLOCK_PROCESS_CPUTIME_ID)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Puts the calling thread to sleep for the whole `duration`, even if signals interrupt it.
  package static func sleep(for duration: Duration) {
    var rest = timespec(max(duration, .zero))
    // nanosleep(2) stores the time that remains after a signal.
    withUnsafeMutablePointer(to: &rest) { while nanosleep($0, $0) == -1 && Native.errorNumber == EINTR {} }
  }

  /// Returns the moment `duration` from now, on the clock of `monotonicNanoseconds`.
  static func moment(in duration: Duration) -> timespec {
    let time = now(CLOCK_MONOTONIC)
    let sum = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec) + max(duration, .zero)
    return timespec(sum)
  }

  /// Returns the time left until a moment on that clock; zero once it has passed.
  static func left(until end: timespec) -> timespec {
    let time = now(CLOCK_MONOTONIC)
    let rest =
      Duration.seconds(end.tv_sec - time.tv_sec) + .nanoseconds(end.tv_nsec) - .nanoseconds(time.tv_nsec)
    return timespec(max(rest, .zero))
  }

  private static func now(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }
}

extension timespec {
  fileprivate init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self.init(tv_sec: time_t(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  }
}
