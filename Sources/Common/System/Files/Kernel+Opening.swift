#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open file descriptor with a single owner, closed at the end of the owner's life.
package struct Descriptor: ~Copyable, Sendable {
  /// The descriptor's number.
  package let raw: Int32

  /// Takes ownership of `raw`, which nothing else may close.
  package init(owning raw: Int32) { self.raw = raw }

  /// Gives up ownership: the caller closes the descriptor.
  package consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  deinit {
    // close(2): on Linux the descriptor is gone even after EINTR, so close is never retried.
    _ = cClose(raw)
  }
}

/// The flags of open(2). Without `write` or `readWrite` a file is opened for reading.
package struct OpenFlags: OptionSet, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// For reading only: no bit of its own.
  package static let read = OpenFlags(rawValue: O_RDONLY)
  /// For writing only.
  package static let write = OpenFlags(rawValue: O_WRONLY)
  /// For reading and writing.
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  /// Creates the file if it doesn't exist.
  package static let create = OpenFlags(rawValue: O_CREAT)
  /// With `create`: fails with EEXIST if the name exists, even as a link.
  package static let exclusive = OpenFlags(rawValue: O_EXCL)
  /// Empties an existing file.
  package static let truncate = OpenFlags(rawValue: O_TRUNC)
  /// Makes every write append.
  package static let append = OpenFlags(rawValue: O_APPEND)
  /// Fails with ENOTDIR for anything but a folder.
  package static let directory = OpenFlags(rawValue: O_DIRECTORY)
  /// Fails with ELOOP if the last component of the path is a link.
  package static let noFollow = OpenFlags(rawValue: O_NOFOLLOW)
  /// Doesn't wait for a FIFO's writer.
  package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
}

/// What is at a path that should be a regular file.
package enum NamedFile: ~Copyable {
  case file(Descriptor, FileStatus)
  /// A folder, a FIFO, a socket, a device or a circular link: it has no bytes of its own.
  case other(inode: UInt64)
  case missing
}

extension Kernel {
  /// Calls open(2), relative to the working directory; always close-on-exec.
  package static func open(_ path: String, _ flags: OpenFlags, mode: mode_t = 0o644) throws(SystemError)
    -> Descriptor
  {
    Descriptor(
      owning: try retrying("open", on: path) {
        Native.open(path, flags.rawValue, mode)
      })
  }

  /// Opens a file to append to; creates it if it doesn't exist. Unlike open(2), it doesn't wait until a FIFO has a reader.
  package static func openForAppending(_ path: String) throws(SystemError) -> Descriptor {
    let file: Descriptor
    do throws(SystemError) {
      file = try open(path, [.write, .create, .append, .nonBlocking])
    } catch {
      guard error.code == .noSuchAddressOrDevice else { throw error }
      // A FIFO that nobody reads. fifo(7): "Under Linux, opening a FIFO for read and write will succeed both in blocking and
      // nonblocking mode": what is written waits for a reader, as far as the pipe has room.
      file = try open(path, [.readWrite, .append, .nonBlocking])
    }
    let raw = file.raw
    let flags = try retrying("fcntl", on: path) { fcntl(raw, F_GETFL) }
    _ = try retrying("fcntl", on: path) { fcntl(raw, F_SETFL, flags & ~O_NONBLOCK) }
    return file
  }

  /// As `open`, but returns nil if the file doesn't exist.
  package static func openExisting(_ path: String, _ flags: OpenFlags) throws(SystemError) -> Descriptor? {
    do {
      return try open(path, flags)
    } catch  where error.code == .noSuchFileOrDirectory {
      return nil
    }
  }

  /// Opens a regular file for reading. Anything else is neither opened nor waited for.
  package static func openFile(_ path: String) throws(SystemError) -> NamedFile {
    guard let named = try named(path) else { return .missing }
    guard named.kind == .file else { return .other(inode: named.inode) }
    // The file may have been replaced meanwhile, perhaps by a FIFO, for whose writer a blocking open(2) would wait.
    guard let file = try openExisting(path, .nonBlocking) else { return .missing }
    let status = try status(file)
    return status.kind == .file ? .file(file, status) : .other(inode: status.inode)
  }

  /// Returns the status of a path, links followed, or nil if it doesn't exist; for a circular link, the link's own.
  package static func named(_ path: String) throws(SystemError) -> FileStatus? {
    do {
      return try status(path)
    } catch  where error.code == .tooManySymbolicLinkLevels {
      return try status(path, followLinks: false)
    }
  }

  /// Opens /dev/null, as a reserve to give up when no descriptor is left.
  package static func spare() -> Descriptor? {
    let number = Native.open("/dev/null", O_RDONLY, 0)
    return number < 0 ? nil : Descriptor(owning: number)
  }
}
