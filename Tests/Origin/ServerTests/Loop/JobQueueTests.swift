import System
import Testing

@testable import Server

/// A copyable wrapper, as #expect needs it.
private final class TestQueue {
  private var queue: JobQueue

  init(workers: Int, limit: Int) { queue = JobQueue(workers: workers, limit: limit) }

  var waiting: Int { queue.waiting }
  var running: [WorkerJob] { queue.running }
  func add(_ job: WorkerJob, always: Bool) -> Bool { queue.add(job, always: always) }
  func next() -> WorkerJob? { queue.next() }
  func finish(_ job: WorkerJob) { queue.finish(job) }
  func postpone(_ job: WorkerJob) { queue.postpone(job) }
  func cancel(_ job: WorkerJob) -> Bool { queue.cancel(job) }
  func cancelAll() { queue.cancelAll() }
}

@Suite struct JobQueueTests {
  private static func job(_ holder: Int) -> WorkerJob { WorkerJob(holder: holder) {} }

  /// Has that many workers take jobs without finishing any; returns the holders in order.
  private static func holders(_ queue: TestQueue, _ count: Int) -> [Int] {
    (0..<count).compactMap { _ in queue.next()?.holder }
  }

  @Test func holdersTakeTurns() {
    let queue = TestQueue(workers: 100, limit: 1000)
    for holder in [1, 1, 1, 1, 2, 2, 3] { #expect(queue.add(Self.job(holder), always: false)) }
    #expect(Self.holders(queue, 10) == [1, 2, 3, 1, 2, 1, 1])
  }

  @Test func oneWorkerIsLeftForOtherHolders() throws {
    let queue = TestQueue(workers: 3, limit: 1000)
    let jobs = (0..<10).map { _ in Self.job(1) }
    for job in jobs { #expect(queue.add(job, always: false)) }
    #expect(Self.holders(queue, 3) == [1, 1])
    #expect(queue.add(Self.job(2), always: false))
    #expect(queue.next()?.holder == 2)
    #expect(queue.next() == nil)
    queue.finish(jobs[0])
    #expect(queue.next() === jobs[2])
  }

  @Test func holderMayFillAQuarterOfTheQueue() {
    let queue = TestQueue(workers: 2, limit: 8)
    #expect((0..<4).map { _ in queue.add(Self.job(1), always: false) } == [true, true, false, false])
    // The continuation of earlier work is accepted.
    #expect(queue.add(Self.job(1), always: true))
    for holder in 2..<7 { #expect(queue.add(Self.job(holder), always: false)) }
    #expect(!queue.add(Self.job(7), always: false))
    #expect(queue.waiting == 8)
  }

  @Test func postponedJobsRunLastAndOneAtATime() {
    let queue = TestQueue(workers: 10, limit: 100)
    let postponed = (0..<3).map { _ in Self.job(1) }
    for job in postponed { #expect(queue.add(job, always: false)) }
    for job in postponed { queue.postpone(job) }
    #expect(queue.waiting == 0)
    let late = Self.job(2)
    #expect(queue.add(late, always: false))
    #expect(queue.next() === late)
    #expect(queue.next() === postponed[0])
    #expect(queue.next() == nil)
    queue.finish(postponed[0])
    // A job that has begun can't be postponed.
    queue.postpone(late)
    #expect(queue.next() === postponed[1])
  }

  @Test func cancelledJobsNeverBegin() {
    let queue = TestQueue(workers: 10, limit: 100)
    let jobs = (0..<4).map { Self.job($0 % 2) }
    for job in jobs { #expect(queue.add(job, always: false)) }
    queue.postpone(jobs[1])
    #expect(queue.cancel(jobs[0]) && queue.cancel(jobs[1]) && !queue.cancel(jobs[1]))
    #expect(queue.waiting == 2)
    #expect(queue.next() === jobs[2])
    #expect(queue.next() === jobs[3])
    #expect(queue.next() == nil)
    #expect(!queue.cancel(jobs[2]))
  }

  @Test func runningJobsAreCancelledIfSafe() {
    let queue = TestQueue(workers: 10, limit: 100)
    let (read, act, waiting) = (WorkerJob(cancellation: Cancellation()) {}, Self.job(0), Self.job(0))
    #expect(queue.add(read, always: false) && queue.add(act, always: false))
    #expect(queue.next() === read && queue.next() === act)
    #expect(queue.add(waiting, always: false))
    queue.cancelAll()
    #expect(read.cancellation?.isCancelled == true && queue.next() == nil && queue.waiting == 0)
    for job in [read, act] { queue.finish(job) }
    #expect(queue.running.isEmpty)
  }
}

@Suite struct WorkerPoolTests {
  @Test func jobsOfAHolderRunInOrder() throws {
    let pool = try WorkerPool(threads: 1, limit: 2000)
    let events = Events()
    for index in 0..<300 { #expect(pool.submit(WorkerJob { events.add("\(index)") })) }
    #expect(events.has("299"))
    #expect(events.all == (0..<300).map { "\($0)" })
    pool.beginStopping()
    #expect(pool.join(within: .seconds(10)))
    #expect(!pool.submit(WorkerJob {}))
  }

  @Test func stopDropsQueuedJobsAndWaitsALimitedTimeForOthers() throws {
    let pool = try WorkerPool(threads: 1, limit: 2000)
    let (events, mayEnd) = (Events(), Locked(false))
    let stuck = WorkerJob {
      events.add("begun")
      while !mayEnd.withLock({ $0 }) { Clock.sleep(for: .milliseconds(1)) }
    }
    #expect(pool.submit(stuck) && events.has("begun"))
    for _ in 0..<10 { #expect(pool.submit(WorkerJob { events.add("dropped") })) }
    pool.beginStopping()
    #expect(pool.waiting == 0 && !pool.join(within: .milliseconds(50)))
    mayEnd.withLock { $0 = true }
    #expect(pool.join(within: .seconds(10)))
    #expect(events.all == ["begun"])
  }

  @Test func jobSeesItsCancellation() throws {
    let pool = try WorkerPool(threads: 1, limit: 10)
    let events = Events()
    let read = WorkerJob(cancellation: Cancellation()) {
      events.add("begun")
      while Cancellation.current?.isCancelled == false { Clock.sleep(for: .milliseconds(1)) }
      events.add("broken off")
    }
    #expect(pool.submit(read) && events.has("begun"))
    #expect(!pool.cancel(read))
    #expect(events.has("broken off"))
    #expect(pool.submit(WorkerJob { events.add(Cancellation.current == nil ? "none" : "some") }))
    #expect(events.has("none"))
    pool.beginStopping()
    #expect(pool.join(within: .seconds(10)))
  }
}
