import System
import Testing

@testable import Store

@Suite struct WritebackTests {
  private struct Rounds: Sendable {
    var begun = 0
    var mayEnd = 0
  }

  /// The disk is asked once for many files, and not again while it is writing.
  @Test func roundsFollowManyFilesOneAtATime() {
    let rounds = Monitor(Rounds())
    let writeback = Writeback {
      let number = rounds.withLock { rounds in
        rounds.begun += 1
        return rounds.begun
      }
      rounds.broadcasting { _ in }
      rounds.waiting { $0.mayEnd >= number ? () : nil }
    }
    func hasBegun(_ count: Int) -> Bool {
      rounds.waiting(for: .seconds(60)) { $0.begun == count ? () : nil } != nil
    }
    writeback.made(Writeback.worthIt - 1)
    #expect(rounds.withLock { $0.begun } == 0)
    writeback.made(1)
    #expect(hasBegun(1))
    writeback.made(3 * Writeback.worthIt)
    #expect(rounds.withLock { $0.begun } == 1)
    rounds.broadcasting { $0.mayEnd = 1 }
    // Files made meanwhile cause a round with the next file.
    for _ in 0..<6000 where rounds.withLock({ $0.begun }) == 1 {
      writeback.made(1)
      Clock.sleep(for: .milliseconds(10))
    }
    #expect(hasBegun(2))
    rounds.broadcasting { $0.mayEnd = 2 }
  }
}
