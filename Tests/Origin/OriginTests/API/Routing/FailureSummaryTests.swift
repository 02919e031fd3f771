import Manifests
import System
import Testing

@testable import Origin
@testable import Store

/// A full disk or a busy origin refuses thousands of requests a minute: the log has their number, not a line for each.
@Suite struct FailureSummaryTests {
  private static let second: UInt64 = 1_000_000_000
  private static let full = FailureSummary.Kind(status: 507, code: "disk-full")
  private static let busy = FailureSummary.Kind(status: 503, code: "busy")

  @Test func firstFailureIsLoggedThenOneLineAMinute() {
    var summary = FailureSummary()
    #expect(summary.note(Self.full, "no space", at: 0) == "error: no space")
    for second in 1...50 {
      for _ in 0..<100 { #expect(summary.note(Self.full, "none", at: UInt64(second) * Self.second) == nil) }
      #expect(summary.lines(at: UInt64(second) * Self.second) == [])
    }
    // Each kind is counted separately.
    #expect(summary.note(Self.busy, "too many", at: 50 * Self.second) == "error: too many")
    #expect(
      summary.lines(at: 60 * Self.second) == ["error: 5000 more requests got 507 (disk-full) in 60 s: none"])
    #expect(summary.note(Self.full, "still", at: 61 * Self.second) == nil)
    #expect(
      summary.lines(at: 120 * Self.second) == ["error: 1 more requests got 507 (disk-full) in 60 s: still"])
    // After a minute without failures, the next one is logged at once.
    #expect(summary.lines(at: 180 * Self.second) == [])
    #expect(summary.note(Self.full, "again", at: 181 * Self.second) == "error: again")
    #expect(summary.note(Self.full, "again", at: 182 * Self.second) == nil)
    #expect(
      summary.lines(at: 183 * Self.second, all: true) == [
        "error: 1 more requests got 507 (disk-full) in 2 s: again"
      ])
  }

  @Test func otherFailuresAreLoggedEachTime() {
    var summary = FailureSummary()
    let internalError = FailureSummary.Kind(status: 500, code: "internal")
    for number in 1...3 {
      #expect(summary.note(internalError, "fault \(number)", at: 0) == "error: fault \(number)")
    }
    #expect(summary.lines(at: 0, all: true) == [])
  }

  @Test func refusedRequestsAreCounted() throws {
    let lines = Locked<[String]>([])
    let origin = try TestOrigin { options in
      options.log = { line in lines.withLock { $0.append(line) } }
      options.push = ReleasePush(names: { _ in ["file"] }) { _ throws(StoreError) in throw .tooManyPushes }
    }
    let body = try origin.release(["a.js": "1"])
    for _ in 0..<20 {
      #expect(try origin.api("POST", "apps/shop/channels/online/releases", body).status == 503)
    }
    #expect(lines.withLock { $0.filter { $0.hasPrefix("error: ") }.count } == 1)
    origin.origin.api.failures.flush(all: true)
    let errors = lines.withLock { $0.filter { $0.hasPrefix("error: ") } }
    #expect(
      errors.count == 2 && errors[1].hasPrefix("error: 19 more requests got 503 (busy) in "), "\(errors)")
  }
}
