import Manifests
import OriginAPI
import Values

/// What `xcache rollout show` prints of the evidence, the steps and what the rollout waits for.
enum RolloutEvidenceLines {
  /// Returns the lines; none from an origin that is too old to say.
  static func all(_ list: RolloutList) -> [String] {
    guard let evidence = list.evidence else { return [] }
    var lines = [
      "failures: \(arm(evidence.candidate)) with version \(list.open?.version.text ?? "")",
      "          \(arm(evidence.control)) that they are compared with",
      "e = \(evidence.e), at most \(evidence.highest) so far; "
        + (evidence.pausesItself
          ? "from 100 on it is paused by itself"
          : "alarms don't pause it: it was resumed after one")
        + (evidence.haltsItself ? ", and from 10000 on halted" : ""),
    ]
    if let at = evidence.alarmedAt { lines.append("paused by an alarm, \(at.formatted)") }
    if let ramp = list.ramp { lines.append(steps(ramp, at: list.open?.share ?? 0)) }
    for wait in list.waits ?? [] { lines.append("waits for: \(wait.text)") }
    return lines
  }

  /// The same on one line, for `xcache status`.
  static func short(_ list: RolloutList) -> String? {
    guard let evidence = list.evidence else { return nil }
    return "failures: \(arm(evidence.candidate)); of the others \(arm(evidence.control)); e = \(evidence.e)"
  }

  /// `40 of 800 devices (5 %, 3.7 % to 6.7 %)`.
  private static func arm(_ arm: EvidenceInfo.Arm) -> String {
    let text = "\(arm.failed) of \(Count.text(arm.opened, "device"))"
    guard let rate = arm.rate, let low = arm.low, let high = arm.high else { return text }
    return "\(text) (\(percent(rate)), \(percent(low)) to \(percent(high)))"
  }

  /// A part of a million as a percentage with at most two decimals.
  private static func percent(_ millionths: Int64) -> String {
    ShareText.percent(Int(clamping: (millionths + 50) / 100))
  }

  private static func steps(_ ramp: RampTerms, at share: Int) -> String {
    let steps = ramp.steps.map { ShareText.option($0) } + (ramp.completes == true ? ["complete"] : [])
    let next = ramp.steps.first { $0 > share }
    let each = Count.text(ramp.each ?? 2_000, "device")
    let time = (ramp.atLeast ?? 3_600) > 0 ? " and \(duration(ramp.atLeast ?? 3_600))" : ""
    let after = next.map { "the next one is \(ShareText.option($0))" } ?? "the last one is reached"
    return "steps \(steps.joined(separator: ", ")), each after \(each)\(time); \(after)"
  }

  private static func duration(_ seconds: Int64) -> String {
    for (length, unit) in [(86_400 as Int64, "d"), (3_600, "h"), (60, "min")] where seconds % length == 0 {
      return "\(seconds / length) \(unit)"
    }
    return "\(seconds) s"
  }
}
