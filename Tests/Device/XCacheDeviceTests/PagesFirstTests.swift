import System
import Testing

@testable import XCacheDevice

/// Jobs wait while a page loads.
@Suite struct PagesFirstTests {
  /// A gate for which the page is never quiet long enough.
  let gate = DownloadGate(width: 2, quiet: .seconds(600), longestLoad: .seconds(600))

  /// The order of events: the piece on a thread of its own, and the end of the page's loading here.
  private func order(
    on gate: DownloadGate? = nil, _ end: @escaping @Sendable (DownloadGate) -> Void
  ) -> [String] {
    let gate = gate ?? self.gate
    let order = Locked<[String]>([])
    let isWaiting = Locked(false)
    gate.pageOpened(1)
    let thread = try? OSThread(name: "job") {
      isWaiting.withLock { $0 = true }
      let shouldContinue = gate.waitForPages()
      order.withLock { $0.append("piece \(shouldContinue)") }
    }
    while !isWaiting.withLock({ $0 }) { Clock.sleep(for: .milliseconds(1)) }
    order.withLock { $0.append("page") }
    end(gate)
    thread?.join()
    return order.withLock { $0 }
  }

  @Test func piecesWaitForThePage() {
    #expect(order { $0.pageLoaded(1) } == ["page", "piece true"])
  }

  @Test(
    "A quiet page, and one that never stops sending requests",
    arguments: [(quiet: 20, longest: 600_000), (quiet: 600_000, longest: 20)])
  func jobsAreNotStarved(quiet: Int64, longest: Int64) throws {
    let gate = DownloadGate(
      width: 2, quiet: .milliseconds(quiet), longestLoad: .milliseconds(longest))
    gate.pageOpened(1)
    gate.pageRequested(1)
    #expect(gate.waitForPages())
    #expect(try gate.runInTurn { () throws(DeviceError) in 7 } == 7)
  }

  @Test func stoppedJobsDoNotWaitForPages() throws {
    let signal = StopSignal()
    try gate.beginJob(signal, "")
    #expect(order { $0.stop(signal) } == ["page", "piece false"])
  }

  @Test func stoppingAnotherJobChangesNothing() throws {
    let old = StopSignal()
    try gate.beginJob(old, "")
    try gate.beginJob(StopSignal(), "")
    gate.stop(old)
    #expect(gate.waitForPages())
  }

  @Test func filesWaitForThePage() throws {
    let gate = gate
    let begun = Locked(false)
    gate.pageOpened(1)
    let thread = try OSThread(name: "file") {
      try? gate.runInTurn { () throws(DeviceError) in begun.withLock { $0 = true } }
    }
    #expect(!begun.withLock { $0 })
    gate.pageLoaded(1)
    thread.join()
    #expect(begun.withLock { $0 })
  }
}
