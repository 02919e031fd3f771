import Libc

/// A kernel call that failed: which, on what, and its errno.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The call's name, as in its manual page.
  package let call: StaticString
  /// The path, address or name it was made on, where there is one.
  package let subject: String?
  /// What the kernel said.
  package let code: Errno

  package init(_ call: StaticString, on subject: String? = nil, code: Errno) {
    self.call = call
    self.subject = subject
    self.code = code
  }

  /// The kernel's own words, e.g. `No space left on device`.
  package var reason: String { String(cString: strerror(code.rawValue)) }

  /// The process, or the machine, has no descriptor left: it may have one in a moment.
  package var isOutOfDescriptors: Bool { code == .tooManyOpenFiles || code == .tooManyOpenFilesInSystem }

  /// The disk is full, or what this user may have of it.
  package var isDiskFull: Bool { code.isDiskFull }

  /// The disk can't give back what was written to it.
  package var isDamage: Bool { code == .ioError || code == .structureNeedsCleaning }

  /// What has the name gives no bytes: it is damaged, no file, or nobody's to read. Others on the same disk may.
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

  /// The kernel's own words for a folder that can't be made tell of names that are there or missing, not of why.
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
