import CLinux
import Glibc
import System

/// A child process with pipes to its standard streams, in its own process group: whatever it starts ends with it.
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

  /// The pipe to its standard input; nil once that is closed.
  private let input: Locked<Descriptor?>
  private let output: Descriptor
  private let errors: Descriptor
  private let id: pid_t
  private let end = Locked<End?>(nil)

  /// Milliseconds from SIGTERM to SIGKILL.
  private static let killDelay = 2_000

  /// Starts the program at `path`, which isn't looked up in PATH, with only these arguments and environment variables.
  /// It inherits none of this process's descriptors.
  package init(_ path: String, _ arguments: [String] = [], environment: [String: String])
    throws(SystemError)
  {
    let input = try Pipe()
    let output = try Pipe()
    let errors = try Pipe()
    id = try Self.spawn(path, arguments, environment, flags: Int32(POSIX_SPAWN_SETPGROUP)) { actions in
      posix_spawn_file_actions_adddup2(&actions, input.reading.raw, 0)
      posix_spawn_file_actions_adddup2(&actions, output.writing.raw, 1)
      posix_spawn_file_actions_adddup2(&actions, errors.writing.raw, 2)
    }
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
  /// - Throws: EPIPE if it no longer reads, or its input is closed.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    try input.withLock { (input) throws(SystemError) in
      switch input {
      case .some(let file): try Kernel.write(bytes.span.bytes, to: file)
      case .none: throw SystemError("write", code: .brokenPipe)
      }
    }
  }

  /// Writes to its standard input as fast as it reads, and no longer than `milliseconds`, or until its input is closed.
  /// - Returns: whether it has taken all.
  package func write(_ bytes: [UInt8], milliseconds: Int) -> Bool {
    let end = Clock.monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let raw = input.withLock({ $0?.raw }), Clock.monotonicNanoseconds() < end else { return false }
      // A short wait, since it doesn't notice that the input is closed here.
      guard Kernel.wait(raw, for: .writing, milliseconds: 50) else { continue }
      // pipe(7): poll says that there is room for PIPE_BUF bytes, so that a write of as many doesn't block.
      let piece = Array(rest.prefix(Self.atomicWrite))
      guard (try? write(piece)) != nil else { return false }
      rest = rest.dropFirst(piece.count)
    }
    return true
  }

  /// PIPE_BUF of Linux, in bytes.
  private static let atomicWrite = 4096

  /// Closes its standard input.
  package func closeInput() { input.withLock { $0 = nil } }

  /// Reads from its standard output, up to the size of the buffer; 0 at the end, nil if nothing came in time.
  package func read(into buffer: UnsafeMutableRawBufferPointer, milliseconds: Int) throws(SystemError) -> Int?
  {
    guard Kernel.wait(output.raw, for: .reading, milliseconds: milliseconds) else { return nil }
    return try Kernel.read(output, into: buffer)
  }

  /// Waits for and reads from its standard error; 0 at the end.
  package func readErrors(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try Kernel.read(errors, into: buffer)
  }

  /// Whether it has ended, even if processes that it started still run.
  package var hasEnded: Bool { end.withLock { $0 != nil || isOver } }

  /// Closes its input and waits for it to end; after `milliseconds` ends it with SIGTERM and then SIGKILL, along with
  /// everything that it started.
  @discardableResult
  package func finish(within milliseconds: Int) -> End {
    closeInput()
    return end.withLock { end in
      if let end { return end }
      if !wait(milliseconds) {
        // Only the process itself at first: it may need what it started to shut down cleanly.
        kill(id, SIGTERM)
        if !wait(Self.killDelay) { kill(-id, SIGKILL) }
      }
      // Its process id, and so the group's, stays reserved until waitpid below.
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

  /// Whether it has ended; checks without reaping it.
  private var isOver: Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
  }
}
