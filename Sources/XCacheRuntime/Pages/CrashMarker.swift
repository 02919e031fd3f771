import System

/// Detects whether interception may have crashed the app.
///
/// A file exists while the first page of a process loads, and counts the processes that ended during that time. Three of
/// them turn interception off until the app or the policy changes, since the file names both.
struct CrashMarker: Sendable {
  /// The number of such processes after which interception stays off.
  static let limit = 3

  let path: String
  /// The app's build and the policy's version.
  let subject: String

  /// Whether interception may start.
  var allowsStart: Bool { starts() < Self.limit }

  /// Records that the first page is starting to load. If the disk can't be written, nothing is recorded: the marker then
  /// has no effect, but the page still loads.
  func begin() { try? DurableFile.write(Array("\(starts() + 1) \(subject)\n".utf8), to: path) }

  /// Records that the process survived the load.
  func end() { try? Kernel.remove(path) }

  /// The number of processes with this subject that didn't survive their first page.
  private func starts() -> Int {
    guard let bytes = try? DurableFile.read(path, limit: 4096) else { return 0 }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let space = text.firstIndex(of: " "), let count = Int(text[..<space]), count > 0,
      text[text.index(after: space)...] == "\(subject)\n"
    else { return 0 }
    return min(count, Self.limit)
  }
}
