import CLinux
import Glibc
import System

/// Another program, started with pipes to its standard streams, in a process group of its own: whatever it starts ends with it.
package final class ChildProcess: Sendable {
  /// How a process ended.
  package enum End: Hashable, Sendable, CustomStringConvertible {
    case exit(Int32)
    case signal(Int32)

    package var description: String {
      switch self {
      case .exit(let code): "exit code \(code)"
      case .signal(let number): "signal \(number)"
      }
    }
  }

  /// What is written to it, until nothing more is.
  private let input: Locked<Descriptor?>
  private let output: Descriptor
  private let errors: Descriptor
  private let id: pid_t
  private let end = Locked<End?>(nil)

  /// Milliseconds from SIGTERM to SIGKILL.
  private static let patience = 2_000

  /// Starts a program with these arguments and variables and no others; of this process's descriptors it gets none.
  /// - Parameter path: not looked up in PATH.
  package init(_ path: String, _ arguments: [String] = [], environment: [String: String])
    throws(SystemError)
  {
    let input = try Pipe()
    let output = try Pipe()
    let errors = try Pipe()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.reading.raw, 0)
    posix_spawn_file_actions_adddup2(&actions, output.writing.raw, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.writing.raw, 2)
    xcache_spawn_closes_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // What this process does about signals isn't what the program expects to find.
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for word in words + variables { free(word) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, &words, &variables)
    guard code == 0 else { throw SystemError("posix_spawn", on: path, code: Errno(rawValue: code)) }
    self.id = id
    self.input = Locked(input.writing)
    self.output = output.reading
    self.errors = errors.reading
  }

  deinit { _ = finish(within: 0) }

  private struct Pipe: ~Copyable {
    let reading: Descriptor
    let writing: Descriptor

    init() throws(SystemError) {
      var ends: [Int32] = [-1, -1]
      _ = try Kernel.retrying("pipe") { Glibc.pipe(&ends) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      reading = Descriptor(owning: ends[0])
      writing = Descriptor(owning: ends[1])
    }
  }

  /// Writes to its standard input.
  /// - Throws: EPIPE, where it reads no more, or its input is closed.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    try input.withLock { (input) throws(SystemError) in
      switch input {
      case .some(let file): try Kernel.write(bytes.span.bytes, to: file)
      case .none: throw SystemError("write", code: .brokenPipe)
      }
    }
  }

  /// Ends its standard input.
  package func closeInput() { input.withLock { $0 = nil } }

  /// What came on its standard output, at most a buffer full of it; 0 at the end, nil where nothing came in time.
  package func read(into buffer: UnsafeMutableRawBufferPointer, milliseconds: Int) throws(SystemError) -> Int?
  {
    guard Kernel.wait(output.raw, for: .reading, milliseconds: milliseconds) else { return nil }
    return try Kernel.read(output, into: buffer)
  }

  /// What it wrote to standard error, once there is something; 0 at the end.
  package func readErrors(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try Kernel.read(errors, into: buffer)
  }

  /// Whether it has ended, though what it started may still run.
  package var hasEnded: Bool { end.withLock { $0 != nil || isOver } }

  /// Closes its input, waits for its end, then asks for it (SIGTERM) and at last forces it, with all that it started.
  /// - Parameter milliseconds: that it may take by itself.
  @discardableResult
  package func finish(within milliseconds: Int) -> End {
    closeInput()
    return end.withLock { end in
      if let end { return end }
      if !wait(milliseconds) {
        // It alone at first: what it started is what it ends with order by.
        kill(id, SIGTERM)
        if !wait(Self.patience) { kill(-id, SIGKILL) }
      }
      // It keeps its number, and so the group's, until it is waited for below.
      while !isOver { Clock.sleep(for: .milliseconds(5)) }
      kill(-id, SIGKILL)
      var status: Int32 = 0
      while waitpid(id, &status, 0) == -1, xcache_errno() == EINTR {}
      // wait(2): the low seven bits are the signal that ended it.
      let how: End = status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f)
      end = how
      return how
    }
  }

  private func wait(_ milliseconds: Int) -> Bool {
    let last = Clock.monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    while !isOver {
      if Clock.monotonicNanoseconds() >= last { return false }
      Clock.sleep(for: .milliseconds(5))
    }
    return true
  }

  /// Looks without taking its number away.
  private var isOver: Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
  }
}
