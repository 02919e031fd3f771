import Platform
import Synchronization
import System

/// Ctrl-C and its like during a command that has started another program or made folders: they are ended and removed first.
final class Interruption: Sendable {
  private let actions = Locked<[@Sendable () -> Void]>([])
  /// Whether a signal came that ends the process.
  private static let isOver = Atomic<Bool>(false)

  /// Begins to wait for signals; called before the command starts a thread, all of which inherit that they leave them alone.
  init() throws(SystemError) {
    Signals.block()
    let actions = actions
    _ = try OSThread(name: "signals") {
      let request = Signals.wait()
      Self.isOver.store(true, ordering: .sequentiallyConsistent)
      // Who was at work meanwhile may make a folder once more, and then waits.
      for _ in 0..<Self.rounds {
        for action in actions.withLock({ $0.reversed() }) { action() }
        Clock.sleep(for: .milliseconds(30))
      }
      Signals.end(by: request)
    }
  }

  /// Has something done before the process ends by a signal; the last first.
  func atEnd(_ action: @escaping @Sendable () -> Void) {
    Self.waitIfAny()
    actions.withLock { $0.append(action) }
  }

  private static let rounds = 4

  /// A folder that is removed in either case.
  func folder(_ name: String) throws(SystemError) -> ScratchFolder {
    let folder = try ScratchFolder(name)
    let path = folder.path
    // Not the folder itself: what holds it has it removed in time.
    atEnd { ScratchFolder.remove(path) }
    return folder
  }

  /// Comes back only where no signal came: whatever else is wrong then follows from it.
  static func waitIfAny() {
    while isOver.load(ordering: .sequentiallyConsistent) { Clock.sleep(for: .seconds(1)) }
  }
}
