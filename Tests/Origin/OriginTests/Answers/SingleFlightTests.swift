import System
import Testing

@testable import Origin

@Suite struct SingleFlightTests {
  /// Work that blocks until it is allowed to continue, and its results.
  private final class Log: Sendable {
    let made = Locked<[Int]>([])
    let delivered = Monitor<[Int]>([])
    let isOpen = Monitor(false)

    func make(_ key: Int) -> Int {
      isOpen.waiting { $0 ? () : nil }
      made.withLock { $0.append(key) }
      return key * 10
    }

    func ask(_ key: Int, _ work: SingleFlight<Int, Int>, isUrgent: Bool = false) -> Bool {
      work.request(key, isUrgent: isUrgent, make: { self.make(key) }, completion: { self.deliver($0) })
    }

    func deliver(_ value: Int) { delivered.broadcasting { $0.append(value) } }
    func open() { isOpen.broadcasting { $0 = true } }
    func wait(for count: Int) { delivered.waiting { $0.count >= count ? () : nil } }
  }

  @Test func manyCallersShareOneFlight() throws {
    let (log, work) = (Log(), try SingleFlight<Int, Int>(threads: 2, maxWaiting: 4))
    for _ in 0..<1000 { #expect(log.ask(1, work)) }
    log.open()
    log.wait(for: 1000)
    #expect(log.made.withLock { $0 } == [1])
    #expect(log.delivered.withLock { $0 } == [Int](repeating: 10, count: 1000))
    // There are no waiters left, so the next request makes it again.
    #expect(log.ask(1, work))
    log.wait(for: 1001)
    #expect(log.made.withLock { $0 } == [1, 1])
  }

  @Test func callersAreRefusedWhenTheQueueIsFull() throws {
    let (log, work) = (Log(), try SingleFlight<Int, Int>(threads: 2, maxWaiting: 4))
    var taken: [Int] = []
    for key in 0..<20 where log.ask(key, work) { taken.append(key) }
    // Two are made once their threads have taken them; four wait.
    #expect((4...6).contains(taken.count))
    #expect(log.ask(taken[0], work), "it is already waiting")
    #expect(log.ask(99, work, isUrgent: true))
    log.open()
    log.wait(for: taken.count + 2)
    #expect(Set(log.made.withLock { $0 }) == Set(taken + [99]))
    #expect(log.made.withLock { $0.count } == taken.count + 1)
  }

  /// One thread, which works on key 0 until the log is opened.
  private static func busy() throws -> (Log, SingleFlight<Int, Int>) {
    let (log, work) = (Log(), try SingleFlight<Int, Int>(threads: 1, maxWaiting: 100))
    #expect(log.ask(0, work, isUrgent: true))
    while work.waiting > 0 { Clock.sleep(for: .milliseconds(1)) }
    return (log, work)
  }

  @Test func requestsAreServedInOrder() throws {
    let (log, work) = try Self.busy()
    for key in 1...300 { #expect(log.ask(key, work, isUrgent: true)) }
    log.open()
    log.wait(for: 301)
    #expect(log.made.withLock { $0 } == Array(0...300))
  }

  @Test func urgentRequestsGoFirstWithoutStarvingOthers() throws {
    let (log, work) = try Self.busy()
    for key in [100, 200] { #expect(log.ask(key, work)) }
    for key in 1...9 { #expect(log.ask(key, work, isUrgent: true)) }
    // It is already waiting as not urgent.
    #expect(log.ask(200, work, isUrgent: true))
    log.open()
    log.wait(for: 13)
    #expect(log.made.withLock { $0 } == [0, 1, 2, 3, 100, 4, 5, 6, 7, 8, 9, 200])
  }

  @Test func backgroundWorkWaitsUntilThereAreNoRequests() throws {
    let (log, work) = try Self.busy()
    #expect(log.ask(1, work))
    #expect(!work.awaitUrgentWork(within: .milliseconds(1)))
    log.open()
    #expect(work.awaitUrgentWork(within: .seconds(60)))
    log.wait(for: 2)
    #expect(work.awaitUrgentWork(within: .zero))
  }

  @Test func callerCanTakeOverTheWork() throws {
    let (log, work) = (Log(), try SingleFlight<Int, Int>(threads: 0, maxWaiting: 4))
    #expect(log.ask(1, work))
    log.open()
    #expect(work.perform(1) { log.make(1) } == 10)
    #expect(log.delivered.withLock { $0 } == [10] && log.made.withLock { $0 } == [1] && work.waiting == 0)
  }
}
