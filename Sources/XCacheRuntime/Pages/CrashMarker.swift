import System

/// Whether the app may have crashed because of interception.
///
/// A file stands while interception starts, and counts the starts that found it. Three of them leave interception off
/// until the app or the policy changes: both are part of what the file says it is about.
struct CrashMarker: Sendable {
  /// Starts that found the file, after which interception stays off.
  static let limit = 3

  let path: String
  /// The app's build and the policy's version.
  let subject: String

  /// Takes note of a start; called before anything is intercepted.
  ///
  /// - Returns: whether interception may start. Where the disk can't be written it may: a marker that is lost costs
  ///   nothing but its purpose.
  func begin() -> Bool {
    let found = starts()
    guard found < Self.limit else { return false }
    try? DurableFile.write(Array("\(found + 1) \(subject)\n".utf8), to: path)
    return true
  }

  /// Takes note that interception works; called once the first page came up.
  func end() { try? Kernel.remove(path) }

  /// Starts with this subject that didn't come to an end.
  private func starts() -> Int {
    guard let bytes = try? DurableFile.read(path, limit: 4096) else { return 0 }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let space = text.firstIndex(of: " "), let count = Int(text[..<space]), count > 0,
      text[text.index(after: space)...] == "\(subject)\n"
    else { return 0 }
    return min(count, Self.limit)
  }
}
