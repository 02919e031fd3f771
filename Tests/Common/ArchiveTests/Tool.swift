import Foundation
import System

/// Other programs, to read our archives and to write archives for us to read.
enum Tool {
  static func exists(_ name: String) -> Bool {
    (Environment.variables["PATH"] ?? "").split(separator: ":").contains {
      access("\($0)/\(name)", X_OK) == 0
    }
  }

  /// Runs a program and returns its exit status.
  static func run(_ words: [String], in folder: String = "/") throws -> Int32 {
    // Not Foundation's Process, in which AddressSanitizer finds a read beyond the end of a directory entry.
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    var arguments = (["env", "-C", folder, "LC_ALL=C.UTF-8"] + words).map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var id: pid_t = 0
    let error = posix_spawnp(&id, "env", &actions, nil, &arguments, environ)
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EINVAL) }
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    // As in shells: the exit code, or 128 plus the signal's number.
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
  }
}

extension [UInt8] {
  func save(to path: String) throws { try DurableFile.write(self, to: path) }
}
