import System

/// Detects whether interception may have crashed the app.
///
/// A file exists while the first page of a process loads, and counts the processes that ended during that time without having
/// been asked to. Three of them turn interception off until the app or the policy changes, since the file names both, or
/// until a day has passed: people end apps, too.
struct CrashMarker: Sendable {
  /// The number of such processes after which interception is off.
  static let limit = 3
  /// The milliseconds for which it is off, and after which the count begins anew.
  static let age: Int64 = 24 * 3600 * 1000

  let path: String
  /// The app's build and the policy's version.
  let subject: String

  /// Since when interception is off, in milliseconds since 1970; nil if it is on.
  func offSince(at now: Int64) -> Int64? {
    guard let note = note(at: now), note.starts >= Self.limit else { return nil }
    return note.time
  }

  /// When the first page of an earlier process was opened, if that process ended before it had loaded; nil if there is none.
  func crash(at now: Int64) -> Int64? { note(at: now)?.time }

  /// Whether a count from `time` still counts. One from the future doesn't: the clock was set back since.
  static func counts(from time: Int64, at now: Int64) -> Bool { now >= time && now - time < age }

  /// Records that the first page is starting to load. If the disk can't be written, nothing is recorded: the marker then
  /// has no effect, but the page still loads.
  func begin(at now: Int64) {
    let starts = min((note(at: now)?.starts ?? 0) + 1, Self.limit)
    try? DurableFile.write(Array("\(starts) \(now) \(subject)\n".utf8), to: path)
  }

  /// Records that the process survived the load.
  func end() { try? Kernel.remove(path) }

  /// How many processes with this subject didn't survive their first page, and when the last of them began it; nil if none.
  private func note(at now: Int64) -> (starts: Int, time: Int64)? {
    guard let bytes = try? DurableFile.read(path, limit: 4096) else { return nil }
    let fields = String(decoding: bytes, as: UTF8.self).split(
      separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3, let starts = Int(fields[0]), starts > 0, let time = Int64(fields[1]), time >= 0,
      fields[2] == "\(subject)\n", Self.counts(from: time, at: now)
    else { return nil }
    return (starts, time)
  }
}
