/// When publishers were at work, as far as what they send and ask tells: which of the files that no release took may be those
/// of a publish that goes on.
struct UploadActivity: Sendable {
  /// How long nobody sends or asks anything before whatever was going on counts as over: 15 min, in milliseconds. A publish
  /// asks what is missing, sends, and plans its release without such a pause.
  static let pause: Int64 = 15 * 60_000

  /// The first sign of what is going on, or went on last; nil: it may have begun before the start.
  private var begin: Int64?
  /// The last sign.
  private var last: Int64
  /// An upload found no room since this was last looked at.
  private(set) var foundNoRoom = false

  /// - Parameter now: milliseconds since 1970, as all times here.
  init(now: Int64) { last = now }

  /// A publisher sends something, or asks what is there.
  mutating func note(_ now: Int64) {
    if isOver(now) { begin = now }
    last = max(last, now)
  }

  /// An upload found no room.
  mutating func noteFullDisk() { foundNoRoom = true }

  mutating func forgetFullDisk() { foundNoRoom = false }

  /// Whether nobody is at work.
  func isOver(_ now: Int64) -> Bool { now - last > Self.pause }

  /// What arrived until then is of no publish that goes on; nil: all of it may be.
  func limit(_ now: Int64) -> Int64? {
    // A file's time may be a tick of the kernel's clock behind.
    isOver(now) ? now - Self.pause : begin.map { $0 - 1000 }
  }
}
