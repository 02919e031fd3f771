import Manifests
import Store
import System

/// What the commands that work on a data folder have in common.
enum KeepingWords {
  /// The data folder that `--data` names, read beside the server that may have it.
  static func besideStore(_ arguments: Arguments) throws -> Store {
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is needed: the data folder of the origin")
    }
    var options = Store.Options()
    options.isBeside = true
    return try Store(path: data, options: options)
  }
}

/// Draws a progress line a few times a second.
final class ProgressLine: Sendable {
  private let terminal: Terminal
  private let drawn = Locked<UInt64>(0)

  init(_ terminal: Terminal) { self.terminal = terminal }

  func show(_ what: String, _ done: Int64, of all: Int64, _ words: String) {
    let now = Clock.monotonicNanoseconds()
    let isDue = drawn.withLock { drawn in
      if now - drawn < 100_000_000 { return false }
      drawn = now
      return true
    }
    if isDue { terminal.progress(Bar.line(what, done, of: all, words)) }
  }
}
