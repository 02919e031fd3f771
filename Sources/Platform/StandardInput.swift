import Glibc
import System

/// What a person types, or what is piped into the program.
package enum StandardInput {
  /// Whether a person can be asked.
  package static var isTerminal: Bool { isatty(0) == 1 }

  /// The next line, without its end; nil where there is no more.
  ///
  /// - Parameters:
  ///   - limit: bytes that it may have.
  ///   - echoes: whether what is typed is shown; a secret is not.
  /// - Throws: also EFBIG, for a longer line.
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
