#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// System calls; they are made only here and in Linux's extensions. `errno` is read at once, EINTR is retried,
/// EAGAIN is a value for the calls that expect it, and EBADF and EFAULT, our own bugs, trap.
package enum Kernel {
  /// Repeats `body` while a signal interrupts it, and throws if it returns -1.
  ///
  /// - Parameters:
  ///   - call: The call's name, as in its manual page.
  ///   - subject: The path, address or name that the call is made on; evaluated only on failure.
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

  /// Returns the errno of a call that returned -1, or nil if a signal interrupted it.
  @usableFromInline package static func failure(_ call: StaticString) -> Errno? {
    let code = Errno(rawValue: Native.errorNumber)
    if code == .interrupted { return nil }
    if code == .badFileDescriptor || code == .badAddress {
      fatalError("\(call) with a bad descriptor or address")
    }
    return code
  }
}

/// An error number (errno(3)), named as in Swift System.
package struct Errno: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// Whether the disk, or this user's quota, is full.
  package var isDiskFull: Bool { self == .noSpace || self == .diskQuotaExceeded }

  package static let notPermitted = Errno(rawValue: EPERM)
  package static let noSuchFileOrDirectory = Errno(rawValue: ENOENT)
  package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
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
  /// EUCLEAN on Linux: the file system is damaged.
  package static let structureNeedsCleaning = Errno(rawValue: Native.damagedFileSystem)
}
