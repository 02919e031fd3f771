import Glibc
import System
import Testing

@Suite struct ThreadTests {
  @Test func waitsEndWithTheirConditionOrTimeout() throws {
    let monitor = Monitor(0)
    let thread = try OSThread(name: "raise") { monitor.broadcasting { $0 = 7 } }
    #expect(monitor.waiting(for: .seconds(60)) { $0 == 7 ? $0 : nil } == 7)
    thread.join()
    let began = Clock.monotonicNanoseconds()
    #expect(monitor.waiting(for: .milliseconds(20)) { $0 == 8 ? $0 : nil } == nil)
    #expect(Clock.monotonicNanoseconds() - began >= 20_000_000)
  }

  @Test func pausingThreadsAreStoppedAtOnce() throws {
    let thread = BackgroundThread()
    let rounds = Locked(0)
    for _ in 1...2 {
      let isPausing = Monitor(false)
      try thread.start("test") {
        repeat {
          rounds.withLock { $0 += 1 }
          isPausing.broadcasting { $0 = true }
        } while thread.pause(for: .seconds(600))
      }
      isPausing.waiting { $0 ? () : nil }
      thread.stop()
    }
    #expect(rounds.withLock { $0 } == 2)
  }

  /// Threads inherit the priority of their creator; lowering it again must not add up.
  @Test func prioritiesAreRelativeToTheProcess() throws {
    @Sendable func nice() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
    let normal = nice()
    let (outer, inner) = (Locked<Int32>(0), Locked<[Int32]>([]))
    try OSThread(name: "outer") {
      OSThread.lowerPriority(to: .awaited)
      outer.withLock { $0 = nice() }
      let thread = try? OSThread(name: "inner") {
        OSThread.lowerPriority(to: .awaited)
        inner.withLock { $0.append(nice()) }
        OSThread.lowerPriority(to: .background)
        OSThread.lowerPriority(to: .awaited)
        inner.withLock { $0.append(nice()) }
      }
      thread?.join()
    }.join()
    #expect(outer.withLock { $0 } == min(19, normal + 5))
    #expect(inner.withLock { $0 } == [min(19, normal + 5), min(19, normal + 10)])
  }

  @Test func pausesEnd() throws {
    let outcome = Monitor<Bool?>(nil)
    let thread = BackgroundThread()
    try thread.start("test") {
      let shouldContinue = thread.pause(for: .milliseconds(1))
      outcome.broadcasting { $0 = shouldContinue }
    }
    #expect(outcome.waiting { $0 })
    thread.stop()
  }

  @Test func queuedWorkIsUniqueAndInOrder() throws {
    let queue = WorkQueue<Int>()
    for item in [3, 1, 3, 2] { queue.addOnce(item) }
    #expect([queue.next(), queue.next(), queue.next()] == [3, 1, 2])
    let stopper = try OSThread(name: "stop") { queue.stop() }
    #expect(queue.next() == nil)
    stopper.join()
    #expect(queue.isStopped)
  }

  @Test func forEachRunsEveryIndexOnceUntilOneFails() throws {
    let seen = Locked<[Int]>([])
    Parallel.forEach(100, threads: 4) { index in seen.withLock { $0.append(index) } }
    #expect(seen.withLock { $0.sorted() } == Array(0..<100))
    struct Failure: Error {}
    let begun = Locked(0)
    #expect(throws: Failure.self) {
      try Parallel.forEach(1000, threads: 1) { index throws(Failure) in
        begun.withLock { $0 += 1 }
        if index == 3 { throw Failure() }
      }
    }
    #expect(begun.withLock { $0 } == 4)
  }

  @Test func tasksRunWhileTheirOwnerGoesOn() {
    let isStarted = Monitor(false)
    let mayEnd = Monitor(false)
    let task = ThreadTask("task") {
      isStarted.broadcasting { $0 = true }
      mayEnd.waiting { $0 ? () : nil }
      return 7
    }
    isStarted.waiting { $0 ? () : nil }
    mayEnd.broadcasting { $0 = true }
    #expect(task.value() == 7)
  }

  @Test func errorsOfATaskReachItsOwner() {
    struct Failure: Error {}
    let task = ThreadTask("fails") { () throws(Failure) -> Int in throw Failure() }
    #expect(throws: Failure.self) { _ = try task.value() }
  }

  /// Workers are reused, so a task's lower priority must not stay with its thread.
  @Test func prioritiesEndWithTheirTask() {
    @Sendable func nice() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
    let normal = nice()
    #expect(ThreadTask("background", priority: .background) { nice() }.value() == min(19, normal + 10))
    #expect(nice() == normal)
  }

  @Test func sleepLastsAsLongAsAsked() {
    let began = Clock.monotonicNanoseconds()
    Clock.sleep(for: .milliseconds(5))
    Clock.sleep(for: .milliseconds(-5))
    #expect(Clock.monotonicNanoseconds() - began >= 5_000_000)
  }

  /// `next(within:)` tells a timeout, an item and a stopped queue apart.
  @Test func waitingForWorkHasATimeout() {
    let queue = WorkQueue<Int>()
    #expect(queue.next(within: .milliseconds(1)) == .none)
    queue.add(7)
    queue.add(7)
    #expect(queue.next(within: .seconds(60)) == .some(7) && queue.next() == 7)
    queue.add(8)
    queue.stop()
    #expect(queue.next(within: .seconds(60)) == .some(nil) && queue.next() == nil)
  }

  /// The first error is thrown, after all threads have ended.
  @Test func forEachThrowsTheFirstError() {
    struct Failure: Error, Equatable { let index: Int }
    let running = Locked(0)
    let error = #expect(throws: Failure.self) {
      try Parallel.forEach(100, threads: 4) { index throws(Failure) in
        running.withLock { $0 += 1 }
        defer { running.withLock { $0 -= 1 } }
        if index == 3 { throw Failure(index: index) }
      }
    }
    #expect(error == Failure(index: 3) && running.withLock { $0 } == 0)
    Parallel.forEach(0, threads: 4) { _ in Issue.record("there is nothing to do") }
  }
}
