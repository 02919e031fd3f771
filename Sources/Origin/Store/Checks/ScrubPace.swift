/// The speed at which files are read so that each is read once per period, with as little impact as possible.
///
/// Pure arithmetic: the reading thread does the waiting.
package struct ScrubPace: Sendable {
  /// Seconds in which every file is read at least once.
  package let period: Double

  /// Creates a pace at which every file is read once in this many seconds.
  package init(period: Double) { self.period = period }

  /// The cost of opening a file, as the bytes that could be read in that time.
  private static let openingCost = 64.0 * 1024

  /// The part of the period that a round takes at an even pace. The rest is for files that arrive meanwhile and for
  /// times when no server runs.
  private static let roundShare = 5.0 / 7

  /// How much faster than even the pace gets when the oldest file is overdue.
  private static let catchUpFactor = 8.0

  /// The most seconds that reading a file takes, and so the most that a restart costs: a file that was partly read is
  /// read again from its beginning.
  private static let maxSecondsPerFile = 2.0 * 3600

  /// The cost of a file, in bytes.
  package func cost(of size: Int64) -> Double { Double(size) + Self.openingCost }

  /// The overall rate in bytes a second; `age` is how many seconds ago the file that has waited longest was last read.
  package func rate(files: Int, bytes: Int64, age: Double) -> Double {
    let all = Double(bytes) + Double(files) * Self.openingCost
    let round = period * Self.roundShare
    let delay = min(max((age - round) / (period - round), 0), 1)
    return max(all, 1) / round * (1 + delay * (Self.catchUpFactor - 1))
  }

  /// The rate within one file in bytes a second.
  package func rate(ofFile size: Int64, at rate: Double) -> Double {
    max(rate, Double(size) / min(Self.maxSecondsPerFile, period / 84))
  }
}
