import Glibc
import System

/// The standard input, typed by a person or piped into the program.
package enum StandardInput {
  /// Whether it is a terminal, so that a person can be asked.
  package static var isTerminal: Bool { isatty(0) == 1 }

  /// Reads the next line, without its end; nil if there is none.
  ///
  /// - Parameters:
  ///   - limit: the most bytes that it may have.
  ///   - echoes: whether to show what is typed; false for a secret.
  /// - Throws: the errors of read(2); EFBIG for a longer line.
  package static func line(limit: Int = 4096, echoes: Bool = true) throws(SystemError) -> String? {
    var settings = termios()
    let hides = !echoes && isTerminal && tcgetattr(0, &settings) == 0
    if hides {
      var silent = settings
      silent.c_lflag &= ~tcflag_t(ECHO)
      tcsetattr(0, TCSAFLUSH, &silent)
    }
    defer { if hides { tcsetattr(0, TCSAFLUSH, &settings) } }
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(0, &byte, 1)
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError("read", on: "standard input", code: Errno(rawValue: errno))
      }
      if count == 0 { return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      guard bytes.count < limit else {
        throw SystemError("read", on: "standard input", code: .fileTooLarge)
      }
      bytes.append(byte)
    }
  }
}
