import Synchronization
import System

/// An object that says that a run is at work. S3 has no lock that every store keeps; this keeps honest runs apart.
final class S3Lock: Sendable {
  private let client: S3Client
  private let isLost = Atomic<Bool>(false)
  /// Tells this run's lock from others'.
  private let id = Hex.encode(Secrets.random(8).span.bytes)
  private let thread = BackgroundThread()

  private static let path = ".xcache-mirror/lock"
  /// Milliseconds after which it is written again, and after which it is that of a run that was ended. Two machines'
  /// clocks may differ by what lies between.
  private static let times: (renewed: Int64, dead: Int64) = (15_000, 60_000)
  /// Between writing the lock and reading it back: longer than what lies between another run's look and its own writing.
  private static let pause = Duration.milliseconds(500)

  init(_ client: S3Client) { self.client = client }

  private var key: String { client.settings.key(Self.path) }

  /// - Throws: `locked`.
  func take() throws(MirrorError) {
    if try isOthers() { throw taken }
    try write()
    // Of two runs that both saw none, the one that wrote last has it.
    Clock.sleep(for: Self.pause)
    if try isOthers() { throw taken }
    try MirrorError.disk { () throws(SystemError) in
      try thread.start("mirror lock", nil) { [self] in renew() }
    }
  }

  private var taken: MirrorError { .locked(place: client.settings.name, process: nil) }

  /// Whether another run has it, which was seen at work lately.
  private func isOthers() throws(MirrorError) -> Bool {
    let reply = try client.send("GET", key)
    // The time in milliseconds, and the run's id.
    let words = String(decoding: reply.body, as: UTF8.self).split(separator: " ")
    guard reply.isSuccess, let text = words.first, let since = Int64(text), since >= 0 else { return false }
    return words.last.map(String.init) != id && Clock.unixMilliseconds() - since < Self.times.dead
  }

  private func write() throws(MirrorError) {
    _ = try client.require("PUT", key, .bytes(Array("\(Clock.unixMilliseconds()) \(id)".utf8)))
  }

  /// - Throws: `locked` once another run took it, which may happen to one that slept for a minute.
  func requireHeld() throws(MirrorError) {
    if isLost.load(ordering: .relaxed) { throw taken }
  }

  private func renew() {
    var at = Clock.unixMilliseconds()
    // Often, since a machine that slept has to look at once.
    while thread.pause(for: .milliseconds(100)) {
      guard Clock.unixMilliseconds() - at >= Self.times.renewed else { continue }
      at = Clock.unixMilliseconds()
      // Where the store can't be reached, the run itself finds out.
      if (try? isOthers()) == true { return isLost.store(true, ordering: .relaxed) }
      try? write()
    }
  }

  func free() {
    thread.stop()
    if !isLost.load(ordering: .relaxed) { _ = try? client.send("DELETE", key) }
  }
}
