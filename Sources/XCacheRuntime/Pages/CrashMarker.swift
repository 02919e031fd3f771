import System

/// Whether the app may have crashed because of interception.
///
/// A file stands while the first page of a process loads, and counts the processes that ended meanwhile. Three of them
/// leave interception off until the app or the policy changes: both are part of what the file says it is about.
struct CrashMarker: Sendable {
  /// Processes that ended so, after which interception stays off.
  static let limit = 3

  let path: String
  /// The app's build and the policy's version.
  let subject: String

  /// Whether interception may start.
  var allowsStart: Bool { starts() < Self.limit }

  /// Takes note that the first page begins to load. Where the disk can't be written nothing is noted: that costs the marker's
  /// purpose, and no page.
  func begin() { try? DurableFile.write(Array("\(starts() + 1) \(subject)\n".utf8), to: path) }

  /// Takes note that the process lived through it.
  func end() { try? Kernel.remove(path) }

  /// Processes with this subject that didn't live through their first page.
  private func starts() -> Int {
    guard let bytes = try? DurableFile.read(path, limit: 4096) else { return 0 }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let space = text.firstIndex(of: " "), let count = Int(text[..<space]), count > 0,
      text[text.index(after: space)...] == "\(subject)\n"
    else { return 0 }
    return min(count, Self.limit)
  }
}
