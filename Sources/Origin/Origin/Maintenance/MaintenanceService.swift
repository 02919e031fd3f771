import Store
import System

/// When garbage is collected each day, and what is kept.
package struct DailyCollection: Sendable {
  /// Minutes after midnight, in the machine's time zone.
  package let minute: Int
  package let policy: RetentionPolicy

  package init(minute: Int, policy: RetentionPolicy) {
    self.minute = minute
    self.policy = policy
  }

  /// Whether a collection is due at a minute of the day; a round that a lease delayed is retried for two hours.
  func isDue(atMinute now: Int) -> Bool { (now - minute + 1440) % 1440 < 120 }
}

/// Periodic work: every second, the database's log is copied into the database, and scheduled acts that are due are begun; every 10 seconds, counts are written, rollouts that go on or stop by themselves looked at, expired plans
/// and source maps that nothing is read with dropped, purges that were cut off finished, and the disk's reserve and the data folder's lock checked; memory used
/// for large work is returned to the system some seconds later; every minute, the files of packs that answers name are
/// checked, webhooks told of late mirrors, and problems noted that began or ended; every 10 minutes, uploads that no release used, and manifests that nobody
/// polls, are removed; at the start and every
/// hour, heads are signed that are due; once a day, garbage is collected.
final class MaintenanceService: Sendable {
  private let store: Store
  private let adoption: AdoptionService
  private let plans: PlanCache
  private let shared: SharedAnswers
  private let failures: FailureLog
  private let answers: AnswerBuilder
  private let gc: DailyCollection?
  private let purges: PurgeService?
  private let schedules: ScheduleService?
  private let rollouts: RolloutWatch?
  private let documents: DocumentService?
  private let stacks: StackReader?
  private let fleet: FleetService?
  private let log: @Sendable (String) -> Void
  private let secondsBetweenSweeps: Int
  private let thread = BackgroundThread()

  private static let flushSeconds = 10
  private static let secondsBetweenTrims = 5
  private static let secondsBetweenPackChecks = 60
  private static let secondsBetweenAttempts = 300
  /// A head is signed again once it is most of a day old, whenever the origin was started.
  private static let secondsBetweenHeads = 3600
  /// The actor recorded in the audit trail.
  private static let actor = Actor(name: "serve", address: "")

  init(
    store: Store, adoption: AdoptionService, answers: AnswerBuilder, plans: PlanCache = PlanCache(),
    shared: SharedAnswers = SharedAnswers(), failures: FailureLog? = nil,
    gc: DailyCollection?, purges: PurgeService? = nil, schedules: ScheduleService? = nil,
    rollouts: RolloutWatch? = nil, documents: DocumentService? = nil, stacks: StackReader? = nil,
    fleet: FleetService? = nil, secondsBetweenSweeps: Int = 600,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.adoption = adoption
    self.plans = plans
    self.shared = shared
    self.failures = failures ?? FailureLog(log: log)
    self.answers = answers
    self.gc = gc
    self.purges = purges
    self.schedules = schedules
    self.rollouts = rollouts
    self.documents = documents
    self.stacks = stacks
    self.fleet = fleet
    self.secondsBetweenSweeps = secondsBetweenSweeps
    self.log = log
  }

  func start() throws(SystemError) {
    try thread.start("housekeeping", .awaited) { [self] in run() }
  }

  func beginStopping() {
    thread.beginStopping()
    rollouts?.beginStopping()
  }

  /// Stops the threads, and writes the last counts even if a garbage collection is still running.
  func finish() {
    thread.stop(within: .seconds(1))
    rollouts?.finish(within: .seconds(1))
    adoption.flush()
    failures.flush(all: true)
  }

  private func run() {
    var second = 0
    var lastAttempt = -Self.secondsBetweenAttempts
    var isDone = true
    var memory = MemoryTrim()
    var hasRoom = checkReserve(true)
    var isOurs = true
    recordDiskUse()
    documents?.renewHeads()
    while thread.pause(for: .seconds(1)) {
      second += 1
      checkpoint()
      schedules?.runIfDue()
      shared.dropOld()
      if second % Self.flushSeconds == 0 {
        adoption.flush()
        rollouts?.begin()
        rollUp()
        plans.dropOld()
        stacks?.dropOld()
        hasRoom = checkReserve(hasRoom)
        failures.flush()
        purges?.finishIfDue()
        isOurs = checkFolder(isOurs)
      }
      if second % Self.secondsBetweenTrims == 0 { memory.trimIfDue(store) }
      if second % Self.secondsBetweenPackChecks == 0 {
        checkPacks()
        announceLateMirrors()
        watchProblems()
      }
      if second % secondsBetweenSweeps == 0 {
        sweep()
        auditCountedActs()
        deleteEndedSessions()
        recordDiskUse()
        forgetUnpolled()
      }
      if second % Self.secondsBetweenHeads == 0 { documents?.renewHeads() }
      guard let gc else { continue }
      // While leases have delayed it for a day, nobody gets another one until it has run.
      let isDue = gc.isDue(atMinute: Self.minuteOfDay) || isCollectionOverdue
      if !isDue { isDone = false }
      guard isDue, !isDone, second - lastAttempt >= Self.secondsBetweenAttempts else { continue }
      lastAttempt = second
      isDone = collect(gc.policy)
    }
  }

  /// Refills the disk's reserve if there is space, and logs when it is used up and when it is back.
  private func checkReserve(_ hadRoom: Bool) -> Bool {
    let hasRoom = store.reserve.fill()
    if hadRoom, !hasRoom, let fault = store.reserve.fault {
      log("warning: no space could be reserved in \(store.folder.path) for a full disk: \(fault)")
    } else if hadRoom, !hasRoom {
      log(
        "error: the disk of \(store.folder.path) is full; publishing is refused, and urgent acts use the space reserved "
          + "for them; free some space, or run xcache gc")
    }
    if hasRoom, !hadRoom { log("the disk of \(store.folder.path) has free space again") }
    return hasRoom
  }

  /// Logs when the data folder is no longer this process's alone.
  private func checkFolder(_ wasOurs: Bool) -> Bool {
    do throws(StoreError) {
      try store.checkFolder()
      return true
    } catch {
      if wasOurs { log("error: \(error)") }
      return false
    }
  }

  private var isCollectionOverdue: Bool {
    // Whatever keeps the database from being read is logged by what is done next.
    (try? store.isCollectionOverdue()) ?? false
  }

  private func checkpoint() {
    do throws(StoreError) {
      try store.checkpoint()
    } catch {
      // A commit does it when the log is large; the disk may be full.
      log("error: the database's log can't be copied into the database: \(error)")
    }
  }

  /// Drops channels that nobody polled for a day from memory.
  private func forgetUnpolled() {
    let now = Clock.monotonicNanoseconds()
    guard now > Self.unpolledNanoseconds else { return }
    let moment = now - Self.unpolledNanoseconds
    answers.forgetUnpolled(since: moment) { adoption.isPolled($0, since: moment) }
  }

  private static let unpolledNanoseconds: UInt64 = 24 * 3600 * 1_000_000_000

  private func checkPacks() {
    do throws(StoreError) {
      try answers.checkPacks(store, log)
    } catch {
      log("error: can't tell whether packs exist: \(error)")
    }
  }

  private func announceLateMirrors() {
    do throws(StoreError) {
      try store.announceLateMirrors()
    } catch {
      log("error: can't tell whether mirrors are late: \(error)")
    }
  }

  private func watchProblems() {
    do throws(StoreError) {
      try fleet?.watch()
    } catch {
      log("error: can't tell what needs attention: \(error)")
    }
  }

  /// One day's counts at a time: releases wait no longer than that.
  private func rollUp() {
    do throws(StoreError) {
      try store.rollUpCounts()
    } catch {
      log("error: counts of older days can't be combined: \(error)")
    }
  }

  private func auditCountedActs() {
    do throws(StoreError) {
      try store.auditCountedActs()
    } catch {
      log("error: acts that were only counted can't be written to the audit trail: \(error)")
    }
  }

  private func deleteEndedSessions() {
    do throws(StoreError) {
      try store.deleteEndedSessions()
    } catch {
      log("error: sessions that ended long ago can't be deleted: \(error)")
    }
  }

  private func recordDiskUse() {
    do throws(StoreError) {
      try store.recordDiskUse()
    } catch {
      log("error: the disk's free space can't be recorded: \(error)")
    }
  }

  private func sweep() {
    do throws(StoreError) {
      let swept = try store.sweepUploads()
      if swept.files > 0 {
        log("removed \(swept.files) files (\(swept.bytes) bytes) that no release took")
      }
    } catch {
      log("error: files that no release took can't be removed: \(error)")
    }
  }

  /// - Returns: whether the round is complete.
  private func collect(_ policy: RetentionPolicy) -> Bool {
    do throws(StoreError) {
      let report = try answers.collectGarbage(store) { () throws(StoreError) in
        try store.collect(policy, by: Self.actor)
      }
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
    let now = CivilTime.local(seconds: Clock.unixMilliseconds() / 1000)
    return now.hour * 60 + now.minute
  }
}
