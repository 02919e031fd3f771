import Synchronization
import System

/// A lock object. S3 has no lock that every store supports; this one keeps cooperating runs apart.
final class S3Lock: Sendable {
  private let client: S3Client
  private let isLost = Atomic<Bool>(false)
  /// Distinguishes this run's lock from others'.
  private let id = Hex.encode(Secrets.random(8).span.bytes)
  private let thread = BackgroundThread()

  private static let path = ".xcache-mirror/lock"
  /// The age in milliseconds at which the lock is renewed, and at which it counts as abandoned. The clocks of two machines may
  /// differ by less than the difference.
  private static let times: (renewed: Int64, dead: Int64) = (15_000, 60_000)
  /// Between writing the lock and reading it back; longer than another run takes between checking and writing.
  private static let pause = Duration.milliseconds(500)

  init(_ client: S3Client) { self.client = client }

  private var key: String { client.settings.key(Self.path) }

  /// Takes the lock.
  /// - Throws: `locked`.
  func take() throws(MirrorError) {
    if try isOthers() { throw taken }
    try write()
    // If two runs both saw no lock, the one that wrote last has it.
    Clock.sleep(for: Self.pause)
    if try isOthers() { throw taken }
    try MirrorError.disk { () throws(SystemError) in
      try thread.start("mirror lock", nil) { [self] in renew() }
    }
  }

  private var taken: MirrorError { .locked(place: client.settings.name, process: nil) }

  /// Whether another run that was recently active has the lock.
  private func isOthers() throws(MirrorError) -> Bool {
    let reply = try client.send("GET", key)
    // The time in milliseconds, and the run's ID.
    let words = String(decoding: reply.body, as: UTF8.self).split(separator: " ")
    guard reply.isSuccess, let text = words.first, let since = Int64(text), since >= 0 else { return false }
    return words.last.map(String.init) != id && Clock.unixMilliseconds() - since < Self.times.dead
  }

  private func write() throws(MirrorError) {
    _ = try client.require("PUT", key, .bytes(Array("\(Clock.unixMilliseconds()) \(id)".utf8)))
  }

  /// Checks that the run still has the lock.
  /// - Throws: `locked` if another run took it, as can happen after a minute's sleep.
  func requireHeld() throws(MirrorError) {
    if isLost.load(ordering: .relaxed) { throw taken }
  }

  private func renew() {
    var at = Clock.unixMilliseconds()
    // Polls often, since a machine that slept must check at once.
    while thread.pause(for: .milliseconds(100)) {
      guard Clock.unixMilliseconds() - at >= Self.times.renewed else { continue }
      at = Clock.unixMilliseconds()
      // If the store can't be reached, the run itself notices.
      if (try? isOthers()) == true { return isLost.store(true, ordering: .relaxed) }
      try? write()
    }
  }

  func free() {
    thread.stop()
    if !isLost.load(ordering: .relaxed) { _ = try? client.send("DELETE", key) }
  }
}
