import CLinux
import Glibc

/// A kernel call that failed: which, on what, and its errno.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The call's name, as in its manual page.
  package let call: StaticString
  /// The path, address or name it was made on, where there is one.
  package let subject: String?
  package let code: Int32

  package init(_ call: StaticString, on subject: String? = nil, code: Int32) {
    self.call = call
    self.subject = subject
    self.code = code
  }

  /// The kernel's own words, e.g. `No space left on device`.
  package var reason: String { String(cString: strerror(code)) }

  /// The process, or the machine, has no descriptor left: it may have one in a moment.
  package var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

  package var description: String {
    if let subject { "\(subject): \(reason) (\(call))" } else { "\(reason) (\(call))" }
  }

  package static func == (a: SystemError, b: SystemError) -> Bool {
    a.code == b.code && a.subject == b.subject && a.call.description == b.call.description
  }
}
