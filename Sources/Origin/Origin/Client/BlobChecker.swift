import Store
import System

/// Carries out the checks of large blobs at their first use since the start, a block at a time, on threads of low priority: at
/// most as many as half the cores. Blocks that somebody waits for come first. Checks take turns at these, too, so that nobody who
/// waits for many blocks of one file delays those who wait for another.
final class BlobChecker: Sendable {
  private struct State {
    var turns = CheckTurns<BlobCheck>()
    var isStopped = false
  }

  private let state = Monitor(State())

  init(threads: Int = max(1, Environment.cores / 2)) throws(SystemError) {
    do throws(SystemError) {
      for number in 0..<threads {
        _ = try OSThread(name: "checks-\(number)") { [state] in
          OSThread.lowerPriority(to: .awaited)
          Self.work(state)
        }
      }
    } catch {
      state.broadcasting { $0.isStopped = true }
      throw error
    }
  }

  deinit { state.broadcasting { $0.isStopped = true } }

  /// Has a check carried out.
  func add(_ check: BlobCheck) { state.signalling { $0.turns.add(check) } }

  /// Has the threads look again for what to do, after somebody has come to wait for a block.
  func wake() { state.signalling { _ in } }

  private enum Next {
    case check(BlobCheck)
    case end
  }

  private static func work(_ state: Monitor<State>) {
    while true {
      let next: Next = state.waiting { state in
        if state.isStopped { return .end }
        state.turns.drop(where: \.isOver)
        return state.turns.next(isAwaited: \.hasRequests, hasWork: \.hasWork).map { .check($0) }
      }
      guard case .check(let check) = next else { return }
      check.step()
      // What another thread took may have ended, and the next step with it.
      state.broadcasting { _ in }
    }
  }
}
