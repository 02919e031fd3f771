/// A word of a command that a message names.
package enum ShellWord {
  /// Returns a word as a shell reads it (POSIX.1, Shell Command Language, 2.2.2): in single quotes unless it is plain.
  package static func quoted(_ word: String) -> String {
    let isPlain =
      !word.isEmpty && word.utf8.allSatisfy { isAlphanumeric($0) || "_-./+,:@%=[]".utf8.contains($0) }
    if isPlain { return word }
    return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }
}
