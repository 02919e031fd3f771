/// How fast files are read so that each is read once in a period, and others notice as little of it as can be.
///
/// Pure arithmetic: the thread that reads does the waiting.
package struct ScrubPace: Sendable {
  /// Seconds in which every file is read at least once.
  package let period: Double

  /// A pace at which every file is read once in so many seconds.
  package init(period: Double) { self.period = period }

  /// What opening a file costs, in bytes that could be read meanwhile.
  private static let bytesForAFile = 64.0 * 1024

  /// The part of the period in which an even pace goes round; the rest is for files that arrive meanwhile and for the
  /// time in which no server runs.
  private static let even = 5.0 / 7

  /// How much faster than evenly it goes when the oldest file's time is over.
  private static let haste = 8.0

  /// No file is read more slowly than in this many seconds, so that a restart costs at most these: what was read of a
  /// file before it counts for nothing.
  private static let secondsForAFile = 2.0 * 3600

  /// What a file costs, in bytes.
  package func cost(of size: Int64) -> Double { Double(size) + Self.bytesForAFile }

  /// Bytes a second, over all.
  /// - Parameter age: seconds since the file was read that was not read for longest.
  package func rate(files: Int, bytes: Int64, age: Double) -> Double {
    let all = Double(bytes) + Double(files) * Self.bytesForAFile
    let round = period * Self.even
    let delay = min(max((age - round) / (period - round), 0), 1)
    return max(all, 1) / round * (1 + delay * (Self.haste - 1))
  }

  /// Bytes a second inside one file.
  package func rate(ofFile size: Int64, at rate: Double) -> Double {
    max(rate, Double(size) / min(Self.secondsForAFile, period / 84))
  }
}
