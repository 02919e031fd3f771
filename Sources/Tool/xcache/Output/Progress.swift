import Publishing
import System
import Values

/// A progress line: the task, a bar, the amount done, the rate, and the time left.
struct ProgressMeter {
  /// The unit of progress.
  enum Unit {
    case bytes
    case files
  }

  private static let width = 24
  /// Nanoseconds between two lines: nobody reads more than ten a second.
  private static let pause: UInt64 = 100_000_000
  /// Nanoseconds before a rate is shown: a slow start says nothing about it.
  private static let start: UInt64 = 1_000_000_000

  private var what = ""
  private var began: UInt64 = 0
  private var drawn: UInt64?
  private var first: Int64 = 0

  /// Returns the line to draw now, or nil if the last one is recent. `words` replaces the description after the bar, by default
  /// `done` of `all` in the unit; `now` is in nanoseconds of a monotonic clock.
  mutating func line(
    _ what: String, _ done: Int64, of all: Int64, _ unit: Unit, _ words: String? = nil, now: UInt64
  ) -> String? {
    if what != self.what { self = ProgressMeter(what: what, began: now, first: max(done, 0)) }
    if let drawn, now < drawn + Self.pause { return nil }
    drawn = now
    // With nothing to do, or an unknown total, there is no share to show.
    guard all > 0 else { return what }
    // Counts from an origin may be inconsistent.
    let share = min(max(done, 0), all)
    let filled = Int(Double(share) / Double(all) * Double(Self.width))
    let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: Self.width - filled)
    return "\(what) [\(bar)] \(words ?? Self.message(share, of: all, unit))\(pace(share, of: all, unit, now))"
  }

  private init(what: String, began: UInt64, first: Int64) {
    (self.what, self.began, self.first) = (what, began, first)
  }

  init() {}

  private static func message(_ done: Int64, of all: Int64, _ unit: Unit) -> String {
    switch unit {
    case .bytes: "\(Bytes.text(done)) of \(Bytes.text(all))"
    case .files: "\(done) of \(Count.text(all, "file"))"
    }
  }

  /// Formats the rate and the time left: `, 5.1 MB/s, 40 s left`.
  private func pace(_ done: Int64, of all: Int64, _ unit: Unit, _ now: UInt64) -> String {
    guard now >= began + Self.start, done > first else { return "" }
    let rate = Double(done - first) / (Double(now - began) / 1e9)
    let speed =
      unit == .bytes ? "\(Bytes.text(Int64(min(rate, 1e15))))/s" : "\(Int64(min(rate, 1e15).rounded(.up)))/s"
    return ", \(speed), \(Self.time(Double(all - done) / rate)) left"
  }

  /// Formats a duration: `40 s`, `3 min`, `2 h`.
  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<100: "\(Int(max(seconds, 0).rounded(.up))) s"
    case ..<6000: "\(Int((seconds / 60).rounded())) min"
    default: "\(Int(min(seconds / 3600, 9999).rounded())) h"
    }
  }
}

/// Draws a command's progress.
final class ProgressLine: Sendable {
  private let terminal: Terminal
  private let meter = Locked(ProgressMeter())

  init(_ terminal: Terminal) { self.terminal = terminal }

  func show(
    _ what: String, _ done: Int64 = 0, of all: Int64 = 0, _ unit: ProgressMeter.Unit = .bytes,
    _ words: String? = nil
  ) {
    let now = Clock.monotonicNanoseconds()
    let line = meter.withLock { $0.line(what, done, of: all, unit, words, now: now) }
    if let line { terminal.progress(line) }
  }

  /// Shows progress in bytes, with the number of files.
  func show(_ what: String, _ bytes: Int64, of all: Int64, files: Int, of allFiles: Int) {
    show(what, bytes, of: all, .bytes, "\(files) of \(Count.text(allFiles, "file"))")
  }
}
