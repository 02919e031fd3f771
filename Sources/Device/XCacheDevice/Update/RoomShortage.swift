import Manifests
import System
import Values

/// A version that there was no room for on the disk: its files aren't fetched again with each poll, but when there is room for
/// them, or after some time, since not every system tells the room that there is.
///
/// It does no I/O and reads no clock; times are in milliseconds since 1970.
struct RoomShortage: Equatable, Sendable {
  /// The first and the longest wait; each further one is twice as long.
  static let waits: ClosedRange<Int64> = 600_000...86_400_000

  private struct Note: Equatable {
    let version: Int64
    let wait: Int64
    let until: Int64
    /// The room that the files of the version still need; nil if the system says that there is so much.
    let needed: Int64?
  }

  private var note: Note?
  /// The bytes that the files of the running update still need.
  var needed: Int64 = 0

  init() {}

  /// Whether a version may be fetched.
  /// - Parameters:
  ///   - version: the version.
  ///   - now: the time.
  ///   - free: the bytes that are free on the disk.
  func allows(_ version: ManifestVersion, at now: Int64, free: Int64) -> Bool {
    guard let note, note.version == version.number else { return true }
    // A clock that was set back must not make it wait for years.
    if now >= note.until || note.until - now > Self.waits.upperBound { return true }
    return note.needed.map { free >= $0 } ?? false
  }

  /// Notes that there was no room for a version.
  mutating func record(_ version: ManifestVersion, at now: Int64, free: Int64) {
    let isSame = note?.version == version.number
    let wait = isSame ? min((note?.wait ?? 0) * 2, Self.waits.upperBound) : Self.waits.lowerBound
    note = Note(
      version: version.number, wait: wait, until: now.addingClamped(wait),
      needed: needed > free ? needed : nil)
  }

  /// Ends the wait: somebody wants it tried now.
  mutating func endWait() {
    guard let note else { return }
    self.note = Note(version: note.version, wait: note.wait, until: 0, needed: note.needed)
  }

  /// Forgets it: an update succeeded.
  /// - Returns: whether there was anything to forget.
  mutating func forget() -> Bool {
    defer { note = nil }
    return note != nil
  }
}

extension RoomShortage {
  /// The contents of `shortage.json`.
  var saved: [UInt8] {
    var document = JSONObject()
    guard let note else { return JSONValue.object(document).canonical }
    document["version"] = .integer(note.version)
    document["wait"] = .integer(note.wait)
    document["until"] = .integer(note.until)
    if let needed = note.needed { document["needed"] = .integer(needed) }
    return JSONValue.object(document).canonical
  }

  /// Reads what was saved; knows of none if that can't be read.
  init(saved bytes: [UInt8]?) {
    self.init()
    guard let document = bytes.flatMap({ try? JSONValue.parse($0) }),
      let version = document["version"]?.integer, let until = document["until"]?.integer,
      let wait = document["wait"]?.integer, Self.waits.contains(wait)
    else { return }
    note = Note(version: version, wait: wait, until: until, needed: document["needed"]?.integer)
  }
}

extension DeviceError {
  /// The error of an update that isn't tried, since there is no room for it.
  static func waitForRoom(_ folder: String, _ version: ManifestVersion) -> DeviceError {
    .file(
      path: folder, call: "statvfs", code: Errno.noSpace.rawValue,
      reason: "There was no room on the disk for version \(version), and there is none yet")
  }

  /// Whether it is the error of `waitForRoom`.
  var isWaitForRoom: Bool {
    if case .file(_, "statvfs", _, _) = self { isDiskFull } else { false }
  }
}
