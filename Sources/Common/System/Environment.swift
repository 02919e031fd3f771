#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The process's environment and resources.
package enum Environment {
  /// The environment variables, without those that aren't valid UTF-8.
  package static var variables: [String: String] {
    var variables: [String: String] = [:]
    var next = Native.environment
    while let line = next?.pointee {
      if let text = String(validatingCString: line), let equals = text.firstIndex(of: "=") {
        variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
      }
      next = next?.advanced(by: 1)
    }
    return variables
  }

  /// This process's ID.
  package static var processID: Int32 { getpid() }

  /// The number of the user with whose rights this process opens files.
  package static var userID: UInt32 { geteuid() }

  /// The number of cores available to this process.
  package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// Raises the descriptor limit as far as possible without being root, and returns the new limit.
  package static func raiseDescriptorLimit() -> Int {
    var limit = Native.descriptorLimit
    limit.rlim_cur = limit.rlim_max
    Native.descriptorLimit = limit
    return descriptorLimit
  }

  /// The maximum number of descriptors that the process may have open.
  package static var descriptorLimit: Int { Int(clamping: Native.descriptorLimit.rlim_cur) }

  /// Ends the process with the exit status `code`.
  package static func exit(_ code: Int32) -> Never { Native.exit(code) }
}

/// The process's standard output and error.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Whether the stream is a terminal.
  package var isTerminal: Bool { isatty(rawValue) == 1 }

  /// Occupies the numbers of standard streams that the process was started without, so that no file opened later gets one and
  /// has output written into it. Reading from or writing to such a stream still fails with EBADF.
  package static func reserve() {
    for number: Int32 in 0...2 {
      let copy = dup(number)
      guard copy < 0 else {
        _ = close(copy)
        continue
      }
      // Takes the lowest free number, which is this one.
      _ = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY, 0)
    }
  }

  /// Returns a new descriptor for the stream's file, pipe or socket.
  ///
  /// - Throws: EBADF if the process was started without the stream.
  package func duplicate() throws(SystemError) -> Descriptor {
    // `reserve` opened /dev/null the wrong way around, so that even a write of no bytes fails (write(2), EBADF).
    guard cWrite(rawValue, "", 0) >= 0 else {
      throw SystemError("write", code: Errno(rawValue: Native.errorNumber))
    }
    let number = dup(rawValue)
    guard number >= 0 else { throw SystemError("dup", code: Errno(rawValue: Native.errorNumber)) }
    return Descriptor(owning: number)
  }

  /// Writes all of `bytes`, in as many calls as it takes.
  ///
  /// - Throws: Also EPIPE if the reader has gone, and EBADF if the process was started without the stream.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { cWrite(rawValue, $0.baseAddress, $0.count) }
      let code = Errno(rawValue: Native.errorNumber)
      guard count >= 0 || code == .interrupted else { throw SystemError("write", code: code) }
      rest = rest.dropFirst(max(0, count))
    }
  }
}

/// The signals that a server handles. They are waited for; there are no signal handlers.
package enum Signals {
  /// What a signal asks for.
  package enum Request: Sendable {
    /// SIGTERM or SIGINT, by name: shut down.
    case end(String)
    /// SIGHUP: reopen the log files.
    case reopen
  }

  /// Blocks SIGTERM, SIGINT and SIGHUP for this thread and those it starts. Must be called before any thread is started.
  package static func block() {
    var set = awaited
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one of these signals.
  package static func wait() -> Request {
    var set = awaited
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number == SIGHUP ? .reopen : .end(number == SIGINT ? "SIGINT" : "SIGTERM")
  }

  /// Makes a write to a closed connection fail with EPIPE instead of ending the process.
  package static func ignorePipe() { _ = signal(SIGPIPE, SIG_IGN) }

  /// Makes a write beyond the process's file size limit (`ulimit -f`, `LimitFSIZE=`) fail with EFBIG instead of ending it.
  package static func ignoreFileSizeLimit() { _ = signal(SIGXFSZ, SIG_IGN) }

  private static var awaited: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGHUP)
    return set
  }
}
