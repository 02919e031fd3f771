import Foundation
import Glibc
import System

/// Another program, which has none of this process's files but those that it is given.
///
/// Foundation's `Process.run` reads entries of /proc/self/fd as if each were as long as the longest one can be: with some 1,300 files
/// open, as in a run of all tests, the last one may reach beyond the memory, and the process ends.
package final class SpawnedProcess: Sendable {
  package struct NotStarted: Error {}

  package let id: pid_t
  private let status = Locked<Int32?>(nil)

  /// - Parameters:
  ///   - input: becomes its standard input; nil: /dev/null.
  ///   - output: the file that its output and errors go to; nil: /dev/null.
  package init(_ program: String, _ arguments: [String], input: Int32? = nil, output: String? = nil) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_addopen(
      &actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    // One that is closed meanwhile is no error.
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    for file in open where file > 2 { posix_spawn_file_actions_addclose(&actions, file) }
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var id: pid_t = 0
    guard posix_spawn(&id, program, &actions, nil, &words, environ) == 0 else { throw NotStarted() }
    self.id = id
  }

  /// Waits for its end; gives what it exits with, 128 and more where a signal ended it.
  @discardableResult package func waitUntilExit() -> Int32 {
    while true {
      if let status = end(0) { return status }
    }
  }

  package var isRunning: Bool { end(WNOHANG) == nil }

  private func end(_ options: Int32) -> Int32? {
    status.withLock { status in
      if status != nil { return status }
      var code: Int32 = 0
      let found = waitpid(id, &code, options)
      guard found == id else {
        if found == -1, errno != EINTR { status = -1 }
        return status
      }
      status = code & 0x7F == 0 ? (code >> 8) & 0xFF : 128 + (code & 0x7F)
      return status
    }
  }
}
