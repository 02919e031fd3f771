#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A failed system call: its name, its subject and its errno.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The call's name, as in its manual page.
  package let call: StaticString
  /// The path, address or name that it was made on, if any.
  package let subject: String?
  /// The errno.
  package let code: Errno

  package init(_ call: StaticString, on subject: String? = nil, code: Errno) {
    self.call = call
    self.subject = subject
    self.code = code
  }

  /// The system's message, e.g. `No space left on device`.
  package var reason: String { String(cString: strerror(code.rawValue)) }

  /// Whether the process or the machine has no descriptor left, which may soon change.
  package var isOutOfDescriptors: Bool { code == .tooManyOpenFiles || code == .tooManyOpenFilesInSystem }

  /// Whether the disk, or this user's quota, is full.
  package var isDiskFull: Bool { code.isDiskFull }

  /// Whether the disk can't return what was written to it.
  package var isDamage: Bool { code == .ioError || code == .structureNeedsCleaning }

  /// Whether only this file can't be read: it is damaged, not a file, or not permitted. Others on the disk may be fine.
  package var isOfFile: Bool {
    isDamage
      || [
        .badMessage, .noData, .isDirectory, .notDirectory, .tooManySymbolicLinkLevels, .permissionDenied,
        .notPermitted, .noSuchAddressOrDevice, .operationNotSupportedByDevice, .illegalSeek,
        .staleNFSFileHandle, .fileNameTooLong,
      ].contains(code)
  }

  package var description: String {
    if let subject, call.description == "mkdir" { return Self.folderMessage(subject, code, reason) }
    return if let subject { "\(subject): \(reason) (\(call))" } else { "\(reason) (\(call))" }
  }

  /// Says why a folder can't be created; the system's own message says only that a name exists or is missing.
  private static func folderMessage(_ path: String, _ code: Errno, _ reason: String) -> String {
    switch code {
    case _ where path.isEmpty: "the folder name is empty"
    case .fileExists:
      "\(path) is a file or a dangling link, not a folder; remove it, or choose another folder"
    case .notDirectory:
      "the folder \(path) can't be created, because a file is in the way; choose another folder"
    case .noSuchFileOrDirectory:
      "the folder \(path) can't be created there (mkdir: \(reason)); choose another one"
    default: "the folder \(path) can't be created: \(reason) (mkdir)"
    }
  }

  package static func == (a: SystemError, b: SystemError) -> Bool {
    a.code == b.code && a.subject == b.subject && a.call.description == b.call.description
  }
}
