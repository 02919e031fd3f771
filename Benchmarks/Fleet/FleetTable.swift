import Manifests
import Store
import System
import Values

/// What a run says: a line for each hour, and what it came to.
enum FleetTable {
  static let head =
    "   time  share  rollout      candidate failed   control failed          e"
    + "    on it      on the full   older   hit returned"

  static func line(_ row: FleetRow) -> String {
    let columns: [(String, Int)] = [
      (time(row.minute), 7), (ShareText.percent(row.share), 7), (" " + row.state, -11),
      (count(row.candidate.opened), 10), (count(row.candidate.failed), 7), (count(row.control.opened), 10),
      (count(row.control.failed), 7), (number(row.e), 11),
      ("\(row.counts.held[Int(FleetOrigin.candidate)])", 9),
      ("\(full(row))", 17), ("\(older(row))", 8), ("\(row.counts.hit)", 6), ("\(row.counts.returned)", 9),
    ]
    return columns.map { pad($0.0, $0.1) }.joined()
  }

  static func json(_ row: FleetRow) -> JSONValue {
    [
      "candidate": sums(row.candidate), "control": sums(row.control), "e": .integer(e(row.e)),
      "hit": .integer(row.counts.hit),
      "holding": [
        "candidate": .integer(row.counts.held[Int(FleetOrigin.candidate)]), "full": .integer(full(row)),
        "older": .integer(older(row)),
      ], "minute": .integer(row.minute), "returned": .integer(row.counts.returned),
      "rollout": .string(row.state), "share": .integer(row.share),
    ]
  }

  /// The lines at the end.
  static func summary(_ run: FleetRun, milliseconds: UInt64) -> String {
    let counts = run.counts
    var lines: [String] = []
    for moment in run.advances {
      lines.append(
        "\(time(moment.minute))  on from \(ShareText.percent(moment.share)), e = \(number(moment.e))")
    }
    for (word, moment) in outcomes(run) {
      guard let moment else { continue }
      lines.append(
        "\(time(moment.minute))  \(word) at \(ShareText.percent(moment.share)) after \(moment.opened) openings of the candidate, e = "
          + "\(number(moment.e)); it was on \(moment.took) devices, and had failed on \(moment.hit)")
    }
    if lines.isEmpty { lines.append("neither paused nor completed") }
    lines.append(
      "\(run.options.devices) devices of \(MemoryLayout<FleetDevice>.stride) bytes, \(time(run.rows.last?.minute ?? 0)): "
        + "\(counts.pages) pages, \(counts.polls) polls, \(counts.reports) reports, \(run.origin.looks) looks; "
        + "opened \(counts.openedCandidate) and \(counts.openedControl), failed \(counts.failedCandidate) and \(counts.failedControl), "
        + "whatever counted; failed on \(counts.hit) devices, \(counts.returned) went back by themselves")
    lines.append("\(milliseconds / 1_000).\(milliseconds / 100 % 10) s, \(run.memory >> 20) MB")
    return lines.joined(separator: "\n")
  }

  static func document(_ run: FleetRun) -> JSONValue {
    var members = JSONObject()
    for (word, moment) in outcomes(run) { members[word] = moment.map(json) ?? .null }
    members["advances"] = .array(run.advances.map(json))
    members["counts"] = [
      "failed": [.integer(run.counts.failedCandidate), .integer(run.counts.failedControl)],
      "hit": .integer(run.counts.hit),
      "opened": [.integer(run.counts.openedCandidate), .integer(run.counts.openedControl)],
      "pages": .integer(run.counts.pages), "polls": .integer(run.counts.polls),
      "reports": .integer(run.counts.reports), "returned": .integer(run.counts.returned),
      "took": .integer(run.counts.took),
    ]
    members["devices"] = .integer(run.options.devices)
    members["rows"] = .array(run.rows.map(json))
    members["seed"] = .string(String(run.options.seed))
    return .object(members)
  }

  private static func outcomes(_ run: FleetRun) -> [(String, FleetMoment?)] {
    [("paused", run.paused), ("halted", run.halted), ("completed", run.completed)]
  }

  private static func json(_ moment: FleetMoment) -> JSONValue {
    [
      "e": .integer(e(moment.e)), "hit": .integer(moment.hit), "minute": .integer(moment.minute),
      "opened": .integer(moment.opened), "share": .integer(moment.share), "took": .integer(moment.took),
    ]
  }

  private static func sums(_ sums: CountedSums) -> JSONValue {
    [
      "failed": .integer(Int64(sums.failed.rounded())), "opened": .integer(Int64(sums.opened.rounded())),
    ]
  }

  private static func e(_ log: Double) -> Int64 { RolloutStanding.number(log) }

  /// Devices with the version that everyone is to have: after a halt, the one with the old content.
  private static func full(_ row: FleetRow) -> Int {
    row.counts.held[Int(FleetOrigin.full)] + row.counts.held[Int(FleetOrigin.halted)]
  }

  private static func older(_ row: FleetRow) -> Int {
    row.counts.held[..<Int(FleetOrigin.full)].reduce(0, +)
  }

  /// Minutes from the start: `2d 07:30`.
  static func time(_ minutes: Int) -> String {
    let (hour, minute) = (minutes / 60 % 24, minutes % 60)
    return "\(minutes / 1_440)d \(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)"
  }

  private static func count(_ value: Double) -> String { "\(Int64(value.rounded()))" }

  /// An e-value of this logarithm, in a form that has room.
  static func number(_ log: Double) -> String {
    if log < 14 {
      let value = RealMath.exp(log)
      let parts = Int((value * 100).rounded())
      return value < 10
        ? "\(parts / 100).\(parts % 100 < 10 ? "0" : "")\(parts % 100)" : "\(Int(value.rounded()))"
    }
    return "10^\(Int((log / RealMath.log(10)).rounded(.down)))"
  }

  /// To the right of a column; to its left if its width is negative.
  static func pad(_ text: String, _ width: Int) -> String {
    let space = String(repeating: " ", count: max(width < 0 ? 0 : 1, abs(width) - text.count))
    return width < 0 ? text + space : space + text
  }
}
