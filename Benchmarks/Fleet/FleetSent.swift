import Manifests
import Origin
import System
import Values

/// What a sample sent to an origin, and what that has to make of it.
final class FleetSent: Sendable {
  struct Sums: Equatable, Sendable {
    var opened: Int64 = 0
    var failed: Int64 = 0
  }

  private struct Key: Hashable {
    let hour: Int64
    let arm: RolloutArm
    let network: FleetNetwork
  }

  private struct State {
    var rows: [Key: Sums] = [:]
    /// Answered polls, by the version that they name.
    var polls: [String: Int64] = [:]
    var failedPolls = 0
    var refusedReports = 0
    var otherReports = 0
  }

  private let state = Locked(State())

  /// Notes a request, if it is a poll.
  func note(poll url: String, status: Int) {
    guard let query = url.split(separator: "?", maxSplits: 1).last, url.contains("/configure.json?") else {
      return
    }
    let version = query.split(separator: "&").first { $0.hasPrefix("version=") }?.dropFirst(8)
    state.withLock { state in
      if status == 200 || status == 304 {
        state.polls[version.map(String.init) ?? "none", default: 0] += 1
      } else {
        state.failedPolls += 1
      }
    }
  }

  /// Notes a report, which the origin reads by the same code.
  /// - Parameter status: of the answer; nil if there was none.
  func note(report body: [UInt8], _ network: FleetNetwork, at now: Int64, status: Int?) {
    let report = (try? JSONValue.parse(body)["evidence"]).flatMap { $0 }.flatMap {
      try? EvidenceReport(json: $0)
    }
    state.withLock { state in
      guard status == 200 else { return state.refusedReports += 1 }
      guard let report else { return state.otherReports += 1 }
      let key = Key(hour: now / 3_600_000 - report.age, arm: report.arm, network: network)
      state.rows[key, default: Sums()].opened += report.opened
      state.rows[key, default: Sums()].failed += report.failed
    }
  }

  /// Polls that were answered, by the version that they named.
  var polls: [String: Int64] { state.withLock { $0.polls } }
  /// Polls and reports without the answer that they should have had.
  var failures: (polls: Int, reports: Int) { state.withLock { ($0.failedPolls, $0.refusedReports) } }

  /// What was reported of an arm.
  func sums(_ arm: RolloutArm) -> Sums {
    state.withLock { state in
      state.rows.filter { $0.key.arm == arm }.values.reduce(into: Sums()) {
        $0.opened += $1.opened
        $0.failed += $1.failed
      }
    }
  }

  /// What counts of it, since one network counts for a part.
  func counted(_ cap: NetworkCap) -> [EvidenceHour] {
    let rows = state.withLock { $0.rows }
    return cap.hours(
      rows.compactMap { key, sums in
        EvidenceRow(
          hour: key.hour, arm: key.arm, network: UInt64(key.network.number), opened: sums.opened,
          failed: sums.failed)
      })
  }
}
