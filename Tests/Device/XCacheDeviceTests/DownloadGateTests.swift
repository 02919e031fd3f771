import System
import Testing

@testable import XCacheDevice

@Suite struct DownloadGateTests {
  /// The most of 40 concurrent downloads that ran at the same time.
  private func peak(of gate: DownloadGate) -> Int {
    let counts = Locked((now: 0, peak: 0))
    Parallel.run(threads: 40) {
      try? gate.runInTurn { () throws(DeviceError) in
        counts.withLock { counts in
          counts.now += 1
          counts.peak = max(counts.peak, counts.now)
        }
        Clock.sleep(for: .milliseconds(10))
        counts.withLock { $0.now -= 1 }
      }
    }
    return counts.withLock { $0.peak }
  }

  @Test func widthLimitsConcurrency() {
    #expect(peak(of: DownloadGate(width: 3)) == 3)
  }

  @Test func multiplexedServersGetMore() {
    let gate = DownloadGate(width: 3)
    gate.widen()
    let peak = peak(of: gate)
    #expect(peak > 3 && peak <= DownloadGate.maxWidth)
    let wide = DownloadGate(width: 64)
    wide.widen()
    #expect(wide.threads == 64)
  }

  /// While a page's download runs, no other one begins; running ones continue.
  @Test func pagesGoFirst() throws {
    let gate = DownloadGate(width: 1)
    let order = Locked<[String]>([])
    let isPageIn = Locked(false)
    try gate.runInTurn { () throws(DeviceError) in
      let page = try? OSThread(name: "page") {
        try? gate.fetchForPage(SHA256.of([]), until: StopSignal()) { () throws(DeviceError) in
          order.withLock { $0.append("page") }
          isPageIn.withLock { $0 = true }
          Clock.sleep(for: .milliseconds(100))
          order.withLock { $0.append("page ends") }
        }
      }
      while !isPageIn.withLock({ $0 }) { Clock.sleep(for: .milliseconds(1)) }
      order.withLock { $0.append("at work") }
      withExtendedLifetime(page) {}
    }
    try gate.runInTurn { () throws(DeviceError) in order.withLock { $0.append("next") } }
    #expect(order.withLock { $0 } == ["page", "at work", "page ends", "next"])
  }
}
