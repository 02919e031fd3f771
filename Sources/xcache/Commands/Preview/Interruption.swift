import Platform
import System

/// Ctrl-C and its like during a command that has started another program or made folders: they are ended and removed first.
final class Interruption: Sendable {
  private let actions = Locked<[@Sendable () -> Void]>([])
  private let isOver = Locked(false)

  /// Begins to wait for signals; called before the command starts a thread, all of which inherit that they leave them alone.
  init() throws(SystemError) {
    Signals.block()
    let (actions, isOver) = (actions, isOver)
    _ = try OSThread(name: "signals") {
      let request = Signals.wait()
      isOver.withLock { $0 = true }
      for action in actions.withLock({ $0.reversed() }) { action() }
      Signals.end(by: request)
    }
  }

  /// Has something done before the process ends by a signal; the last first.
  func atEnd(_ action: @escaping @Sendable () -> Void) { actions.withLock { $0.append(action) } }

  /// A folder that is removed in either case.
  func folder(_ name: String) throws(SystemError) -> ScratchFolder {
    let folder = try ScratchFolder(name)
    let path = folder.path
    // Not the folder itself: what holds it has it removed in time.
    atEnd { ScratchFolder.remove(path) }
    return folder
  }

  /// Comes back only where no signal came: whatever else is wrong then follows from it.
  func waitIfAny() { while isOver.withLock({ $0 }) { Clock.sleep(for: .seconds(1)) } }
}
