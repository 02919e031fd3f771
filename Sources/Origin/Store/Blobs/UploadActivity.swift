/// When publishers were at work, as far as their uploads and queries show: it tells which of the files without a
/// release may belong to a publish in progress.
struct UploadActivity: Sendable {
  /// How long there is no upload or query before a publish counts as over: 15 min, in milliseconds. A publish asks what
  /// is missing, uploads, and plans its release without such a pause.
  static let pause: Int64 = 15 * 60_000

  /// The first sign of the current or latest activity; nil if it may have begun before the start.
  private var begin: Int64?
  /// The latest sign.
  private var last: Int64
  /// Whether an upload found no space since this was last reset.
  private(set) var ranOutOfSpace = false

  /// - Parameter now: milliseconds since 1970, like all times here.
  init(now: Int64) { last = now }

  /// Notes an upload or a query.
  mutating func note(_ now: Int64) {
    if isOver(now) { begin = now }
    last = max(last, now)
  }

  /// Notes that an upload found no space.
  mutating func noteFullDisk() { ranOutOfSpace = true }

  mutating func forgetFullDisk() { ranOutOfSpace = false }

  /// Whether no publish is in progress.
  func isOver(_ now: Int64) -> Bool { now - last > Self.pause }

  /// The time up to which files belong to no publish in progress; nil if all of them may.
  func limit(_ now: Int64) -> Int64? {
    // A file's time may lag a tick behind the kernel's clock.
    isOver(now) ? now - Self.pause : begin.map { $0 - 1000 }
  }
}
