import CLinux
import Glibc
import System

extension ChildProcess {
  /// Starts a program that goes on by itself, in a session of its own: it neither reads nor writes this process's streams, and doesn't end
  /// with it. Otherwise as `init`.
  package static func startDetached(
    _ path: String, _ arguments: [String] = [], environment: [String: String]
  ) throws(SystemError) {
    // POSIX_SPAWN_SETSID (posix_spawn(3)), which Glibc exposes only with _GNU_SOURCE: Ctrl-C at the terminal doesn't end it.
    _ = try spawn(path, arguments, environment, flags: 0x80) { actions in
      for stream in Int32(0)...2 {
        posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
      }
    }
  }

  /// Starts a program with this process's identity and folder, but without its descriptors, signal mask and handlers.
  /// - Parameters:
  ///   - path: the program, which isn't looked up in PATH.
  ///   - flags: more of `posix_spawnattr_setflags(3)`.
  ///   - streams: sets the standard streams.
  /// - Returns: the process's id.
  static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String: String], flags: Int32,
    streams: (inout posix_spawn_file_actions_t) -> Void
  ) throws(SystemError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    streams(&actions)
    xcache_spawn_closes_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | flags))
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, &words, &variables)
    guard code == 0 else { throw SystemError("posix_spawn", on: path, code: Errno(rawValue: code)) }
    return id
  }
}
