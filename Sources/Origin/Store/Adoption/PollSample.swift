import Manifests

/// The batches of counts from which a number of polls was worked out, since a shared cache answered the polls themselves.
package struct PollSample: Hashable, Sendable {
  /// The number of batches.
  package private(set) var batches: Int
  /// The sum of the squares of the polls that each batch stands for.
  package private(set) var squares: Double

  /// Polls that were counted themselves.
  package static let none = PollSample(batches: 0, squares: 0)

  /// Creates a sample of batches.
  package init(batches: Int, squares: Double) {
    (self.batches, self.squares) = (batches, squares)
  }

  /// Adds one batch that stands for so many polls.
  package mutating func add(batchOf polls: Int) {
    batches += 1
    squares += Double(polls) * Double(polls)
  }

  /// Adds the batches of another sample.
  package mutating func add(_ other: PollSample) {
    batches += other.batches
    squares += other.squares
  }

  /// Returns how far a version's share of `polls` may be from the truth, in hundredths of a percentage point; nil if no batch is among
  /// them. In 95 of 100 cases it is at most that far.
  ///
  /// It is that of a share of a half, the largest there is, by Kish's effective sample size (sum of weights)² / sum of squared weights.
  /// Polls that were counted themselves are part of the sum, and have no error.
  package func margin(of polls: Int) -> Int? {
    guard batches > 0, polls > 0 else { return nil }
    let share = Self.deviations / 2 * squares.squareRoot() / Double(polls)
    return Int(min(1, share) * Double(AnswerExtras.allReports) + 0.5)
  }

  /// The standard deviations around the mean that have 95 % of a normal distribution.
  private static let deviations = 1.96
}
