import Manifests
import OriginAPI
import Values

/// What `xcache rollout show` prints of the evidence, the steps and what the rollout waits for.
enum RolloutEvidenceLines {
  /// Returns the lines; none from an origin that is too old to say.
  static func all(_ list: RolloutList) -> [String] {
    guard let evidence = list.evidence else { return [] }
    let networks = Count.text(evidence.networks, "network")
    var lines = [
      "failures: \(arm(evidence.candidate, "with version \(list.open?.version.text ?? "")"))"
        + (evidence.networks > 0 ? ", in \(networks)" : ""),
      "          \(arm(evidence.control, "that they are compared with"))",
    ]
    let all = "e = \(number(evidence.e)), at most \(number(evidence.highest)) so far"
    if let resumed = evidence.resumed {
      lines.append(
        "evidence against it since a person resumed it: e = \(number(resumed.e)), of what is opened from \(resumed.at.formatted) on"
      )
      lines.append(
        "  an alarm doesn't pause it any more"
          + (evidence.haltsItself ? ", but it is \(halting(evidence))" : ""))
      lines.append("evidence against it from the beginning: \(all)")
    } else {
      lines.append(
        "evidence against it: \(all); from \(number(Int64(RampDecision.pauses))) on it is paused by itself"
          + (evidence.haltsItself ? ", and \(halting(evidence))" : ""))
    }
    if let open = list.open, open.share == 0 || open.share == RolloutRule.all {
      lines.append(
        "  at \(ShareText.percent(open.share)) no devices are compared: what they open now is no evidence")
    }
    if let line = course(evidence.points) { lines.append(line) }
    if let at = evidence.alarmedAt {
      lines.append(
        evidence.pausesItself && list.open?.paused == true
          ? "paused by an alarm, \(at.formatted): `xcache rollout halt -m TEXT` takes it back, "
            + "`xcache rollout resume` goes on in spite of it"
          : "an alarm has paused it before, \(at.formatted)")
    }
    if let ramp = list.ramp { lines.append(steps(ramp, at: list.open?.share ?? 0)) }
    for wait in list.waits ?? [] { lines.append("waits for: \(wait.text)") }
    return lines + leftOut(evidence)
  }

  /// The same on one or two lines, for `xcache status`.
  static func short(_ list: RolloutList) -> [String] {
    guard let evidence = list.evidence else { return [] }
    let deciding = evidence.resumed?.e ?? evidence.e
    let lines = [
      "failures: \(arm(evidence.candidate)); of the others \(arm(evidence.control)); evidence against it"
        + "\(evidence.resumed == nil ? "" : " since it was resumed"): e = \(number(deciding))"
    ]
    guard let ramp = list.ramp else { return lines }
    let waits = (list.waits ?? []).map(\.text).joined(separator: "; ")
    return lines + [
      "\(after(ramp, at: list.open?.share ?? 0, "step"))" + (waits.isEmpty ? "" : "; it waits for \(waits)")
    ]
  }

  /// `40 of 800 devices (5 %; 95 % confidence: 2.7 % to 8.3 %)`.
  static func arm(_ arm: EvidenceInfo.Arm, _ which: String? = nil) -> String {
    let text =
      "\(number(arm.failed)) of \(number(arm.opened)) device\(arm.opened == 1 ? "" : "s")\(which.map { " \($0)" } ?? "")"
    guard let rate = arm.rate, let low = arm.low, let high = arm.high else { return text }
    return "\(text) (\(percent(rate)); 95 % confidence: \(percent(low)) to \(percent(high)))"
  }

  private static func number(_ count: Int64) -> String { Count.grouped(count) }

  /// A part of a million as a percentage with at most two decimals.
  private static func percent(_ millionths: Int64) -> String {
    ShareText.percent(Int(clamping: millionths.addingClamped(50) / 100))
  }

  private static func halting(_ evidence: EvidenceInfo) -> String {
    "halted from \(number(Int64(RampDecision.halts))) on, if it has failed in \(RampDecision.haltNetworks) networks or more"
  }

  // MARK: - Over time

  /// The most bars that are drawn.
  static let maxBars = 48
  /// What e is at least, for each height of a bar: four of them are below 100.
  private static let heights: [Int64] = [.min, 4, 10, 32, 100, 317, 1_000, 3_163]

  /// The e-value over time, one bar for each block of hours, or the highest of several; nil where there is nothing to compare.
  private static func course(_ points: [EvidenceInfo.Point]) -> String? {
    guard points.count > 1, let first = points.first, let last = points.last else { return nil }
    let each = (points.count + maxBars - 1) / maxBars
    let bars = stride(from: 0, to: points.count, by: each).map { start in
      bar(points[start..<min(start + each, points.count)].map(\.e).max() ?? 0)
    }
    return
      "e over time: \(bars.joined())  from \(first.at.formatted) to \(last.at.formatted); ▅ is 100 or more"
  }

  private static func bar(_ e: Int64) -> String {
    let bars = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    return bars[heights.lastIndex { e >= $0 } ?? 0]
  }

  // MARK: - What it goes by

  private static func steps(_ ramp: RampTerms, at share: Int) -> String {
    let steps = ramp.steps.map { ShareText.option($0) } + (ramp.completes == true ? ["complete"] : [])
    let each = ramp.each ?? 2_000
    let time = (ramp.atLeast ?? 3_600) > 0 ? " and \(duration(ramp.atLeast ?? 3_600))" : ""
    return
      "steps \(steps.joined(separator: ", ")), each after \(number(each)) device\(each == 1 ? "" : "s")\(time); "
      + after(ramp, at: share)
  }

  private static func after(_ ramp: RampTerms, at share: Int, _ step: String = "one") -> String {
    if let next = ramp.steps.first(where: { $0 > share }) {
      return "the next \(step) is \(ShareText.option(next))"
    }
    return ramp.completes == true ? "the next \(step) completes it" : "the last \(step) is reached"
  }

  static func duration(_ seconds: Int64) -> String {
    for (length, unit) in [(86_400 as Int64, "d"), (3_600, "h"), (60, "min")] where seconds % length == 0 {
      return "\(seconds / length) \(unit)"
    }
    return "\(seconds) s"
  }

  /// Why most of what was reported isn't counted, and what to do.
  private static func leftOut(_ evidence: EvidenceInfo) -> [String] {
    let cap = evidence.networkCap ?? 500
    guard let left = evidence.leftOut else {
      return cap == 500 ? [] : ["one network counts for \(ShareText.percent(cap)) at most"]
    }
    return [
      "\(number(left.opened)) of \(number(left.of)) openings of the last two days aren't counted: they came from "
        + "\(Count.text(left.networks, "network")), and one counts for \(ShareText.percent(cap)) at most",
      "  if there is a proxy before the origin, `serve --trust-proxy ADDRESS` tells devices apart;",
      "  if the devices themselves are in few networks, `xcache rollout set --network-cap 100%` counts all",
    ]
  }
}
