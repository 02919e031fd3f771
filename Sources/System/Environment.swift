import Libc

/// What the process was started with and what it may use.
package enum Environment {
  /// The environment variables; those whose text isn't UTF-8 are left out.
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

  /// This process's number.
  package static var processID: Int32 { getpid() }

  /// Cores that this process may run on.
  package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// Raises the limit of open descriptors as far as it goes without being root, and gives it.
  package static func raiseDescriptorLimit() -> Int {
    var limit = Native.descriptorLimit
    limit.rlim_cur = limit.rlim_max
    Native.descriptorLimit = limit
    return descriptorLimit
  }

  /// How many descriptors the process may have open.
  package static var descriptorLimit: Int { Int(clamping: Native.descriptorLimit.rlim_cur) }

  /// Ends the process with `code`, which whoever started it reads.
  package static func exit(_ code: Int32) -> Never { Native.exit(code) }
}

/// The process's standard output and error.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Whether a person looks at it.
  package var isTerminal: Bool { isatty(rawValue) == 1 }

  /// Takes the numbers of standard streams that the process was started without, before a file gets one and results are written
  /// into it. What is read from or written to such a stream fails as it did: EBADF.
  package static func reserve() {
    for number: Int32 in 0...2 {
      let copy = dup(number)
      guard copy < 0 else {
        _ = close(copy)
        continue
      }
      // The lowest number that is free, which is this one.
      _ = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY, 0)
    }
  }

  /// A descriptor of its own to where it leads, be that a file, a pipe or a socket.
  ///
  /// - Throws: EBADF, where the process was started without it.
  package func duplicate() throws(SystemError) -> Descriptor {
    // What `reserve` put there takes no bytes, not even none (write(2), EBADF).
    guard Libc.write(rawValue, "", 0) >= 0 else {
      throw SystemError("write", code: Errno(rawValue: Native.errorNumber))
    }
    let number = dup(rawValue)
    guard number >= 0 else { throw SystemError("dup", code: Errno(rawValue: Native.errorNumber)) }
    return Descriptor(owning: number)
  }

  /// Writes all of `bytes`, however many calls it takes.
  ///
  /// - Throws: EPIPE too, where whoever read has gone, and EBADF, where the process was started without it.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Libc.write(rawValue, $0.baseAddress, $0.count) }
      let code = Errno(rawValue: Native.errorNumber)
      guard count >= 0 || code == .interrupted else { throw SystemError("write", code: code) }
      rest = rest.dropFirst(max(0, count))
    }
  }
}

/// The signals that a server acts upon, taken by waiting for them instead of by handlers.
package enum Signals {
  /// What a signal asks for.
  package enum Request: Sendable {
    /// SIGTERM or SIGINT, by its name: end.
    case end(String)
    /// SIGHUP: open log files anew.
    case reopen
  }

  /// Blocks SIGTERM, SIGINT and SIGHUP for this thread and those it starts; called before any thread is started.
  package static func block() {
    var set = awaited
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for one of them.
  package static func wait() -> Request {
    var set = awaited
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number == SIGHUP ? .reopen : .end(number == SIGINT ? "SIGINT" : "SIGTERM")
  }

  /// Lets a write to a closed connection fail with EPIPE instead of ending the process.
  package static func ignorePipe() { _ = signal(SIGPIPE, SIG_IGN) }

  /// Lets a write beyond the process's largest file (`ulimit -f`, `LimitFSIZE=`) fail with EFBIG instead of ending it.
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
