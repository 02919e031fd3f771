import Libc

/// An open file descriptor with one owner; closed when the owner lets go.
package struct Descriptor: ~Copyable, Sendable {
  /// The number that the kernel knows it by.
  package let raw: Int32

  /// Takes over `raw`, which nothing else may close.
  package init(owning raw: Int32) { self.raw = raw }

  /// Gives the number away: whoever takes it closes it.
  package consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  deinit {
    // close(2): after EINTR on Linux the descriptor is gone all the same, so it is never tried again.
    _ = Libc.close(raw)
  }
}

/// How a file is opened (open(2)). Without `write` or `readWrite` it is opened for reading.
package struct OpenFlags: OptionSet, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// For reading alone: no bit of its own.
  package static let read = OpenFlags(rawValue: O_RDONLY)
  /// For writing alone.
  package static let write = OpenFlags(rawValue: O_WRONLY)
  /// For both.
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  /// Makes the file where there is none.
  package static let create = OpenFlags(rawValue: O_CREAT)
  /// With `create`: fails with EEXIST where there is one, a link included.
  package static let exclusive = OpenFlags(rawValue: O_EXCL)
  /// Takes all bytes from the file that there is.
  package static let truncate = OpenFlags(rawValue: O_TRUNC)
  /// Writes each time at the file's end.
  package static let append = OpenFlags(rawValue: O_APPEND)
  /// Fails with ENOTDIR for anything but a folder.
  package static let directory = OpenFlags(rawValue: O_DIRECTORY)
  /// Fails with ELOOP where the last name of the path is a link.
  package static let noFollow = OpenFlags(rawValue: O_NOFOLLOW)
  /// Doesn't wait for whoever writes into a FIFO.
  package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
}

/// What has a name that should be a regular file's.
package enum NamedFile: ~Copyable {
  case file(Descriptor, FileStatus)
  /// A folder, a FIFO, a socket, a device or a link that leads back to itself: it has no bytes of its own.
  case other(inode: UInt64)
  case missing
}

extension Kernel {
  /// open(2) below the working directory; always close-on-exec.
  package static func open(_ path: String, _ flags: OpenFlags, mode: mode_t = 0o644) throws(SystemError)
    -> Descriptor
  {
    Descriptor(
      owning: try retrying("open", on: path) {
        Native.open(path, flags.rawValue, mode)
      })
  }

  /// As `open`; nil where nothing has that name.
  package static func openExisting(_ path: String, _ flags: OpenFlags) throws(SystemError) -> Descriptor? {
    do {
      return try open(path, flags)
    } catch  where error.code == .noSuchFileOrDirectory {
      return nil
    }
  }

  /// Opens a regular file for reading; what else may have its name is neither opened nor waited for.
  package static func openFile(_ path: String) throws(SystemError) -> NamedFile {
    guard let named = try named(path) else { return .missing }
    guard named.kind == .file else { return .other(inode: named.inode) }
    // Another may have the name by now, a FIFO perhaps: open(2) would wait for whoever writes into it.
    guard let file = try openExisting(path, .nonBlocking) else { return .missing }
    let status = try status(file)
    return status.kind == .file ? .file(file, status) : .other(inode: status.inode)
  }

  /// What has a name, links followed; one that leads in a circle stands for itself.
  package static func named(_ path: String) throws(SystemError) -> FileStatus? {
    do {
      return try status(path)
    } catch  where error.code == .tooManySymbolicLinkLevels {
      return try status(path, followLinks: false)
    }
  }

  /// A second descriptor to spend when none is left: /dev/null.
  package static func spare() -> Descriptor? {
    let number = Native.open("/dev/null", O_RDONLY, 0)
    return number < 0 ? nil : Descriptor(owning: number)
  }
}
