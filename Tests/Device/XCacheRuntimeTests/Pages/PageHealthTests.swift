import System
import Testing
import TestSupport

@testable import XCacheRuntime

/// A `PageHealth` in a class, so that `#expect` can call its mutating methods.
private final class Health {
  var value: PageHealth
  init(_ value: PageHealth) { self.value = value }
  convenience init(version: String) { self.init(PageHealth(version: version)) }
  func holds(_ version: String) { value.setVersion(version) }
  func isFailed(_ page: String) -> Bool { value.isFailed(page) }
  func failed(_ page: String, from version: String) -> Bool { value.recordFailure(page, from: version) }
  func cameUp(_ page: String, from version: String) -> Bool { value.recordSuccess(page, from: version) }
}

@Suite struct PageHealthTests {
  private let page = "https://m.test/p"

  @Test func pagesFailAfterTwoFailuresInARow() {
    let health = Health(version: "5")
    #expect(!health.failed(page, from: "5") && !health.isFailed(page))
    #expect(health.failed(page, from: "5") && health.isFailed(page))
    #expect(!health.isFailed("https://m.test/q"))
    // Returned once.
    #expect(!health.failed(page, from: "5"))
    health.holds("5")
    #expect(health.isFailed(page))
    health.holds("6")
    #expect(!health.isFailed(page))
  }

  @Test func successResetsTheCount() {
    let health = Health(version: "5")
    #expect(!health.failed(page, from: "5"))
    #expect(health.cameUp(page, from: "5"))
    #expect(!health.failed(page, from: "5") && !health.isFailed(page))
  }

  @Test func signalsOfOlderVersionsAreIgnored() {
    let health = Health(version: "5")
    #expect(!health.failed(page, from: "4") && !health.failed(page, from: "4") && !health.isFailed(page))
    #expect(!health.failed(page, from: "5"))
    #expect(!health.cameUp(page, from: "4"))
    #expect(health.failed(page, from: "5"))
    #expect(!health.cameUp(page, from: "5") && health.isFailed(page))
  }

  @Test func stateSurvivesARestart() {
    let health = Health(version: "5")
    _ = health.failed(page, from: "5")
    let next = Health(PageHealth(saved: health.value.saved, version: "5"))
    #expect(next.value == health.value && next.failed(page, from: "5"))
    #expect(PageHealth(saved: health.value.saved, version: "6") == PageHealth(version: "6"))
    for text in [
      "", "{", "[]", #"{"pages":[],"version":"5"}"#, #"{"pages":{"p":"1"},"version":"5"}"#,
      #"{"pages":{"p":-1},"version":"5"}"#, #"{"pages":{"p":9223372036854775807},"version":"5"}"#,
    ] {
      #expect(PageHealth(saved: Array(text.utf8), version: "5") == PageHealth(version: "5"))
    }
  }

  @Test func numberOfPagesIsLimited() {
    let health = Health(version: "5")
    for number in 0..<1000 { _ = health.failed("https://m.test/\(number)", from: "5") }
    #expect(health.value.failures.count == PageHealth.capacity)
  }

  /// Pages that failed once are evicted first, the oldest first.
  @Test func fullTablesStillTakePages() {
    let health = Health(version: "5")
    for _ in 1...2 { _ = health.failed(page, from: "5") }
    for number in 0..<1000 {
      let other = "https://m.test/\(number)"
      #expect(!health.failed(other, from: "5"))
      #expect(health.failed(other, from: "5") && health.isFailed(other))
      _ = health.failed("https://m.test/once-\(number)", from: "5")
    }
    #expect(health.value.failures.count == PageHealth.capacity)
    #expect(health.isFailed("https://m.test/999"))
  }
}

@Suite struct CrashMarkerTests {
  private static let now: Int64 = 1_800_000_000_000
  private static let day: Int64 = 24 * 3600 * 1000

  @Test func threeCrashesTurnItOff() throws {
    let scratch = try Scratch()
    let marker = CrashMarker(path: "\(scratch.path)/starting", subject: "3 build-1")
    let off = (1...5).map { start -> Bool in
      defer { marker.begin(at: Self.now + Int64(start)) }
      return marker.offSince(at: Self.now + Int64(start)) != nil
    }
    #expect(off == [false, false, false, true, true])
    // Another policy or build of the app starts again.
    #expect(CrashMarker(path: marker.path, subject: "4 build-1").offSince(at: Self.now + 5) == nil)
    marker.end()
    #expect(marker.offSince(at: Self.now) == nil)
    let absurd = [
      "", "x", "3", "3 3 build-1\n", "9999999999999999999 1800000000000 3 build-1\n",
      "-3 1800000000000 3 build-1\n", "3 -1 3 build-1\n", "3 9999999999999999999 3 build-1\n",
    ]
    for text in absurd {
      try DurableFile.write(Array(text.utf8), to: marker.path)
      #expect(marker.offSince(at: Self.now) == nil, "\(text)")
    }
  }

  @Test(arguments: [(0, true), (day - 1, true), (day, false), (10 * day, false), (-1, false), (-day, false)])
  func countsExpire(after time: Int64, isOff: Bool) throws {
    let scratch = try Scratch()
    let marker = CrashMarker(path: "\(scratch.path)/starting", subject: "3 build-1")
    for _ in 0..<3 { marker.begin(at: Self.now) }
    #expect((marker.offSince(at: Self.now + time) != nil) == isOff)
    // An expired count begins anew.
    marker.begin(at: Self.now + time)
    #expect((marker.offSince(at: Self.now + time) != nil) == isOff)
  }

  @Test func unwritableMarkersAreIgnored() {
    let marker = CrashMarker(path: "/proc/none/starting", subject: "3")
    for _ in 0..<5 { marker.begin(at: Self.now) }
    #expect(marker.offSince(at: Self.now) == nil)
  }

  /// Systems kill apps in the background.
  @Test func endingInTheBackgroundIsNoCrash() async throws {
    let bench = try RuntimeBench()
    let path = "\(bench.folder)/starting"
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    _ = runtime.open(RuntimeBench.page)
    await runtime.finishNotes()
    #expect(try DurableFile.read(path) != nil)
    runtime.changeConditions { $0.isForeground = false }
    await runtime.finishNotes()
    #expect(try DurableFile.read(path) == nil)
    await runtime.close()
    let next = try await bench.runtime()
    next.changeConditions { $0.isForeground = false }
    _ = next.open(RuntimeBench.page)
    await next.finishNotes()
    #expect(try DurableFile.read(path) == nil)
  }
}
