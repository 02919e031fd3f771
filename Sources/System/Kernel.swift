import Libc

/// System calls, here and in Platform's extensions of it, and nowhere else. `errno` is read at once; EINTR is tried
/// again; EAGAIN is a value for the calls that expect it; EBADF and EFAULT are our own bugs and trap.
package enum Kernel {
  /// Repeats `body` while a signal interrupts it, and turns -1 into an error.
  ///
  /// - Parameters:
  ///   - call: the call's name, as in its manual page.
  ///   - subject: the path, address or name that it is made on; asked for once it failed.
  @inlinable @inline(__always)
  package static func retrying<N: SignedInteger>(
    _ call: StaticString, on subject: @autoclosure () -> String? = nil, _ body: () -> N
  ) throws(SystemError) -> N {
    while true {
      let result = body()
      if result != -1 { return result }
      if let error = failure(call) { throw SystemError(call, on: subject(), code: error) }
    }
  }

  /// What errno says of a call that gave -1; nil where a signal interrupted it.
  @usableFromInline package static func failure(_ call: StaticString) -> Errno? {
    let code = Errno(rawValue: Native.errorNumber)
    if code == .interrupted { return nil }
    if code == .badFileDescriptor || code == .badAddress {
      fatalError("\(call) with a bad descriptor or address")
    }
    return code
  }
}

/// The number of an error (errno(3)); names as in Swift System.
package struct Errno: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// The disk is full, or what this user may have of it.
  package var isDiskFull: Bool { self == .noSpace || self == .diskQuotaExceeded }

  package static let notPermitted = Errno(rawValue: EPERM)
  package static let noSuchFileOrDirectory = Errno(rawValue: ENOENT)
  package static let interrupted = Errno(rawValue: EINTR)
  package static let ioError = Errno(rawValue: EIO)
  package static let noSuchAddressOrDevice = Errno(rawValue: ENXIO)
  package static let badFileDescriptor = Errno(rawValue: EBADF)
  package static let wouldBlock = Errno(rawValue: EWOULDBLOCK)
  package static let permissionDenied = Errno(rawValue: EACCES)
  package static let badAddress = Errno(rawValue: EFAULT)
  package static let fileExists = Errno(rawValue: EEXIST)
  package static let improperLink = Errno(rawValue: EXDEV)
  package static let operationNotSupportedByDevice = Errno(rawValue: ENODEV)
  package static let notDirectory = Errno(rawValue: ENOTDIR)
  package static let isDirectory = Errno(rawValue: EISDIR)
  package static let invalidArgument = Errno(rawValue: EINVAL)
  package static let tooManyOpenFilesInSystem = Errno(rawValue: ENFILE)
  package static let tooManyOpenFiles = Errno(rawValue: EMFILE)
  package static let fileTooLarge = Errno(rawValue: EFBIG)
  package static let noSpace = Errno(rawValue: ENOSPC)
  package static let illegalSeek = Errno(rawValue: ESPIPE)
  package static let tooManyLinks = Errno(rawValue: EMLINK)
  package static let brokenPipe = Errno(rawValue: EPIPE)
  package static let fileNameTooLong = Errno(rawValue: ENAMETOOLONG)
  package static let noFunction = Errno(rawValue: ENOSYS)
  package static let directoryNotEmpty = Errno(rawValue: ENOTEMPTY)
  package static let tooManySymbolicLinkLevels = Errno(rawValue: ELOOP)
  package static let notSupported = Errno(rawValue: ENOTSUP)
  package static let addressInUse = Errno(rawValue: EADDRINUSE)
  package static let staleNFSFileHandle = Errno(rawValue: ESTALE)
  package static let diskQuotaExceeded = Errno(rawValue: EDQUOT)
  package static let badMessage = Errno(rawValue: EBADMSG)
  package static let noData = Errno(rawValue: ENODATA)
  /// EUCLEAN of Linux: the file system found itself damaged.
  package static let structureNeedsCleaning = Errno(rawValue: Native.damagedFileSystem)
}
