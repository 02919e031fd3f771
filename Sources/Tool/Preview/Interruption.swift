import Linux
import Synchronization
import System

/// Handles Ctrl-C and similar signals for a command that starts programs or creates folders: these are ended and removed first.
package final class Interruption: Sendable {
  private let actions = Locked<[@Sendable () -> Void]>([])
  /// Whether a signal is ending the process.
  private static let isOver = Atomic<Bool>(false)

  /// Starts waiting for signals. Must be called before the command starts any thread, since all inherit the signal mask.
  package init() throws(SystemError) {
    Signals.block()
    let actions = actions
    _ = try OSThread(name: "signals") {
      let request = Signals.wait()
      Self.isOver.store(true, ordering: .sequentiallyConsistent)
      // Threads at work may create a folder once more before they wait, so repeat.
      for _ in 0..<Self.rounds {
        for action in actions.withLock({ $0.reversed() }) { action() }
        Clock.sleep(for: .milliseconds(30))
      }
      Signals.end(by: request)
    }
  }

  /// Registers an action to run before a signal ends the process; the last registered runs first.
  func atEnd(_ action: @escaping @Sendable () -> Void) {
    Self.waitIfAny()
    actions.withLock { $0.append(action) }
  }

  private static let rounds = 4

  /// Creates a folder that is removed in either case.
  func folder(_ name: String) throws(SystemError) -> ScratchFolder {
    let folder = try ScratchFolder(name)
    let path = folder.path
    // Captures only the path: the folder's owner must be able to release it, and thereby remove it, earlier.
    atEnd { ScratchFolder.remove(path) }
    return folder
  }

  /// Returns only if no signal came: otherwise, any failure may be just its consequence.
  package static func waitIfAny() {
    while isOver.load(ordering: .sequentiallyConsistent) { Clock.sleep(for: .seconds(1)) }
  }
}
