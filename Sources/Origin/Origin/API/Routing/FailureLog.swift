import OriginAPI
import System

/// Decides which failures are logged: those that clients repeat by themselves while something is short (503, 507) are logged
/// once, then counted, and summed up each minute.
struct FailureSummary {
  /// Failures with a common cause.
  struct Kind: Hashable {
    let status: Int
    /// The problem's code.
    let code: String

    /// Whether clients repeat such requests until it passes.
    var recurs: Bool { status == 503 || status == 507 }
  }

  private struct Tally {
    /// When its minute began, in monotonic nanoseconds.
    var begin: UInt64
    var count = 0
    /// The newest description.
    var words = ""
  }

  private var tallies: [Kind: Tally] = [:]

  /// In nanoseconds.
  private static let period: UInt64 = 60_000_000_000

  /// Notes a failure.
  /// - Returns: the line to log now; nil if it is counted.
  mutating func note(_ kind: Kind, _ words: String, at now: UInt64) -> String? {
    guard kind.recurs else { return "error: \(words)" }
    guard var tally = tallies[kind] else {
      tallies[kind] = Tally(begin: now)
      return "error: \(words)"
    }
    tally.count += 1
    tally.words = words
    tallies[kind] = tally
    return nil
  }

  /// Returns the lines for the minutes that are over, or for all.
  mutating func lines(at now: UInt64, all: Bool = false) -> [String] {
    var lines: [String] = []
    for (kind, tally) in tallies.sorted(by: { ($0.key.status, $0.key.code) < ($1.key.status, $1.key.code) })
    where all || now - tally.begin >= Self.period {
      // A minute without any ends it: the next one is logged at once.
      tallies[kind] = tally.count > 0 ? Tally(begin: now) : nil
      guard tally.count > 0 else { continue }
      let seconds = (now - tally.begin) / 1_000_000_000
      lines.append(
        "error: \(tally.count) more requests got \(kind.status) (\(kind.code)) in \(seconds) s: \(tally.words)"
      )
    }
    return lines
  }
}

/// The log of requests that failed at the origin.
final class FailureLog: Sendable {
  private let summary = Locked(FailureSummary())
  private let log: @Sendable (String) -> Void

  init(log: @escaping @Sendable (String) -> Void) { self.log = log }

  /// Logs or counts a failure.
  func note(_ problem: Problem, _ words: String) {
    let kind = FailureSummary.Kind(status: problem.status, code: problem.code)
    let now = Clock.monotonicNanoseconds()
    if let line = summary.withLock({ $0.note(kind, words, at: now) }) { log(line) }
  }

  /// Logs the sums of the minutes that are over, or of all.
  func flush(all: Bool = false) {
    let now = Clock.monotonicNanoseconds()
    for line in summary.withLock({ $0.lines(at: now, all: all) }) { log(line) }
  }
}
