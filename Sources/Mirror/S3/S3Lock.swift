import Glibc
import Platform
import Synchronization

/// An object that says that a run is at work. S3 has no lock that every store keeps; this keeps honest runs apart.
final class S3Lock: Sendable {
  private let client: S3Client
  private let ends = Atomic<Bool>(false)
  private let thread = Locked<OSThread?>(nil)

  private static let path = ".xcache-mirror/lock"
  /// Milliseconds after which it is written again, and after which it is that of a run that was ended. Two machines'
  /// clocks may differ by what lies between.
  private static let times: (renewed: Int64, dead: Int64) = (15_000, 60_000)

  init(_ client: S3Client) { self.client = client }

  private var key: String { client.settings.key(Self.path) }

  /// - Throws: `locked`.
  func take() throws(MirrorError) {
    let reply = try client.send("GET", key)
    if reply.isSuccess, let since = Int64(String(decoding: reply.body, as: UTF8.self)), since >= 0,
      Clock.unixMilliseconds() - since < Self.times.dead
    {
      throw .locked(place: client.settings.name, process: nil)
    }
    try write()
    ends.store(false, ordering: .relaxed)
    let thread = try MirrorError.disk { () throws(SystemError) in
      try OSThread(name: "mirror lock") { [self] in renew() }
    }
    self.thread.withLock { $0 = thread }
  }

  private func write() throws(MirrorError) {
    _ = try client.require("PUT", key, .bytes(Array("\(Clock.unixMilliseconds())".utf8)))
  }

  private func renew() {
    var at = Clock.unixMilliseconds()
    while !ends.load(ordering: .relaxed) {
      usleep(100_000)
      guard Clock.unixMilliseconds() - at >= Self.times.renewed else { continue }
      at = Clock.unixMilliseconds()
      // Where the store can't be reached, the run itself finds out.
      try? write()
    }
  }

  func free() {
    ends.store(true, ordering: .relaxed)
    thread.withLock { $0.take() }?.join()
    _ = try? client.send("DELETE", key)
  }
}
