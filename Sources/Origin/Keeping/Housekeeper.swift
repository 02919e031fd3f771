import Glibc
import Platform
import Store
import Synchronization

/// When garbage is collected each day, and what stays.
package struct DailyCollection: Sendable {
  /// Minutes after midnight, in the machine's time zone.
  package let minute: Int
  package let policy: KeepPolicy

  package init(minute: Int, policy: KeepPolicy) {
    self.minute = minute
    self.policy = policy
  }

  /// Whether a minute of the day is the one; a round that someone's reading put off is tried again for two hours.
  func isDue(atMinute now: Int) -> Bool { (now - minute + 1440) % 1440 < 120 }
}

/// What is done by the clock: counts are written every 10 seconds, uploads that no release took are looked for every
/// 10 minutes, garbage is collected once a day.
final class Housekeeper: Sendable {
  private let store: Store
  private let adoption: AdoptionDesk
  private let gc: DailyCollection?
  private let log: @Sendable (String) -> Void
  private let secondsBetweenSweeps: Int
  private let stopping = Atomic<Bool>(false)
  private let thread = Locked<OSThread?>(nil)

  private static let flushSeconds = 10
  private static let secondsBetweenTries = 300
  /// Who the audit trail says that it was.
  private static let actor = Actor(name: "serve", address: "")

  init(
    store: Store, adoption: AdoptionDesk, gc: DailyCollection?, secondsBetweenSweeps: Int = 600,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.adoption = adoption
    self.gc = gc
    self.secondsBetweenSweeps = secondsBetweenSweeps
    self.log = log
  }

  func start() throws(SystemError) {
    let made = try OSThread(name: "housekeeping") { [self] in run() }
    thread.withLock { $0 = made }
  }

  func beginStopping() { stopping.store(true, ordering: .relaxed) }

  /// Ends the thread and writes what was counted last.
  func finish() {
    beginStopping()
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    running?.join()
    adoption.flush()
  }

  private func run() {
    OSThread.lowerPriority()
    var quarter = 0
    var lastTry = -Self.secondsBetweenTries
    var isDone = true
    while !stopping.load(ordering: .relaxed) {
      usleep(250_000)
      quarter += 1
      if quarter % (4 * Self.flushSeconds) == 0 { adoption.flush() }
      if quarter % (4 * secondsBetweenSweeps) == 0 { sweep() }
      guard let gc else { continue }
      let isDue = gc.isDue(atMinute: Self.minuteOfDay)
      if !isDue { isDone = false }
      guard isDue, !isDone, quarter / 4 - lastTry >= Self.secondsBetweenTries else { continue }
      lastTry = quarter / 4
      isDone = collect(gc.policy)
    }
  }

  private func sweep() {
    do throws(StoreError) {
      let swept = try store.sweepUploads()
      if swept.files > 0 {
        log("removed \(swept.files) files (\(swept.bytes) bytes) that arrived a day ago and no release took")
      }
    } catch {
      log("error: files that no release took can't be removed: \(error)")
    }
  }

  /// - Returns: whether the round is over.
  private func collect(_ policy: KeepPolicy) -> Bool {
    do throws(StoreError) {
      let report = try store.collect(policy, by: Self.actor)
      log(
        "gc dropped \(report.channels.reduce(0) { $0 + $1.dropped.count }) versions and "
          + "freed \(report.freedBytes) bytes")
      return report.stoppedFor.isEmpty
    } catch {
      log("gc: \(error)")
      guard case .leased = error else { return true }
      return false
    }
  }

  private static var minuteOfDay: Int {
    var seconds = time_t(Clock.unixMilliseconds() / 1000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return Int(parts.tm_hour) * 60 + Int(parts.tm_min)
  }
}
