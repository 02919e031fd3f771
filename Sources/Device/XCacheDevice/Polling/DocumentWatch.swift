/// How slowly a document may come.
package struct DocumentPace: Hashable, Sendable {
  /// The nanoseconds after which a document that isn't here yet is looked into for the first time.
  var firstInspection: UInt64 = 1_000_000_000
  /// The nanoseconds that every document gets.
  package var patience: UInt64 = 60_000_000_000
  /// The bytes per second, on average since the beginning, that one which takes longer must have brought.
  var minRate: UInt64 = 2_048
}

/// Decides, while a document comes, when to look into what is here, and whether to give it up: one that drips must neither hide
/// the version of a policy that it named at its beginning, nor keep the next poll waiting.
struct DocumentWatch {
  enum Action: Equatable {
    case proceed
    /// Look into what has come.
    case inspect
    case abort
  }

  private let pace: DocumentPace
  /// In nanoseconds of the monotonic clock, as all times here.
  private var start: UInt64
  private var nextInspection: UInt64
  private(set) var hasAborted = false

  init(_ pace: DocumentPace, from now: UInt64) {
    self.pace = pace
    start = now
    nextInspection = now &+ pace.firstInspection
  }

  /// Takes note that `count` bytes are here.
  mutating func next(_ count: Int, at now: UInt64) -> Action {
    let elapsed = now > start ? now - start : 0
    if elapsed > pace.patience, UInt64(count) < elapsed / 1_000_000 * pace.minRate / 1_000 {
      hasAborted = true
      return .abort
    }
    guard now >= nextInspection else { return .proceed }
    // The cost of looking into a long document stays below that of reading it twice.
    nextInspection = now &+ elapsed
    return .inspect
  }

  /// Leaves out the time that looking took, as it did if a policy was fetched.
  mutating func excludeInspection(_ nanoseconds: UInt64) {
    start &+= nanoseconds
    nextInspection &+= nanoseconds
  }
}
