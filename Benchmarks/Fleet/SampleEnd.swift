import Manifests
import OriginAPI
import System
import Values

/// What an origin says at the end of a sample, beside what was sent to it.
struct SampleEnd {
  let sent: FleetSent
  let rollouts: (before: RolloutList, after: RolloutList)
  let polls: (before: AdoptionAnswer, after: AdoptionAnswer)
  /// The rollout at the start.
  let rollout: RolloutInfo

  /// A line of the comparison.
  struct Line {
    let name: String
    let sent: Int64
    /// What the origin is to say.
    let expected: Int64
    let origin: Int64?
    /// Why another number than the expected one is right; nil if none is.
    let reason: String?

    var isExplained: Bool { origin == expected || reason != nil }
  }

  struct Outcome {
    let lines: [Line]
    let notes: [String]

    var isExplained: Bool { lines.allSatisfy(\.isExplained) }
  }

  var compared: Outcome {
    var lines: [Line] = []
    var notes: [String] = []
    let after = rollouts.after.rollouts.first { $0.seed == rollout.seed }
    let evidence = rollouts.after.open?.seed == rollout.seed ? rollouts.after.evidence : nil
    let earlier = rollouts.before.evidence
    let hasEarlier = (earlier?.candidate.opened ?? 0) + (earlier?.control.opened ?? 0) > 0
    for arm in RolloutArm.allCases {
      let (all, counted) = (sent.sums(arm), counted(arm, evidence))
      let told = evidence.map { arm == .candidate ? $0.candidate : $0.control }
      let reason =
        evidence == nil
        ? "the rollout is \(after?.state ?? "gone"): what is reported of it isn't counted or shown any more"
        : hasEarlier ? "others had reported before" : nil
      lines.append(
        Line(
          name: "\(arm) opened", sent: all.opened, expected: counted.opened, origin: told?.opened,
          reason: reason))
      lines.append(
        Line(
          name: "\(arm) failed", sent: all.failed, expected: counted.failed, origin: told?.failed,
          reason: reason))
    }
    let (old, new) = (versions(polls.before), versions(polls.after))
    for version in Set(sent.polls.keys).union(new.keys).sorted() {
      let (asked, told) = (sent.polls[version] ?? 0, (new[version] ?? 0) - (old[version] ?? 0))
      if asked == 0, told == 0 { continue }
      lines.append(
        Line(
          name: "polls from \(version)", sent: asked, expected: asked, origin: told,
          reason: asked < told && asked == 0 ? "polls of others" : nil))
    }
    let failures = sent.failures
    if failures.polls > 0 { notes.append("\(failures.polls) polls had no answer, or a refusal") }
    if failures.reports > 0 { notes.append("\(failures.reports) reports weren't accepted") }
    if let open = evidence, let after {
      notes.append(
        "e = \(open.e), highest \(open.highest); \(ShareText.percent(after.share))\(after.paused ? ", paused" : "")"
      )
    } else {
      notes.append("the rollout is \(after?.state ?? "gone")\(after?.reason.map { ": \($0)" } ?? "")")
    }
    return Outcome(lines: lines, notes: notes)
  }

  private func counted(_ arm: RolloutArm, _ evidence: EvidenceInfo?) -> (opened: Int64, failed: Int64) {
    let cap = evidence?.networkCap.flatMap { NetworkCap(share: $0) } ?? .standard
    let sums = sent.counted(cap).map { arm == .candidate ? $0.candidate : $0.control }
    return (
      Int64(sums.reduce(0) { $0 + $1.opened }.rounded()), Int64(sums.reduce(0) { $0 + $1.failed }.rounded())
    )
  }

  private func versions(_ answer: AdoptionAnswer) -> [String: Int64] {
    Dictionary(answer.day.versions.map { ($0.version, $0.polls) }) { $0 + $1 }
  }
}

extension SampleEnd.Outcome {
  var text: String {
    var rows = [("", "sent", "counts", "the origin says", "")]
    for line in lines {
      let verdict =
        line.origin == line.expected ? "equal" : line.reason.map { "explained: \($0)" } ?? "NOT EQUAL"
      rows.append(
        (line.name, "\(line.sent)", "\(line.expected)", line.origin.map { "\($0)" } ?? "–", verdict))
    }
    let table = rows.map { row in
      FleetTable.pad(row.0, -20) + FleetTable.pad(row.1, 8) + FleetTable.pad(row.2, 8)
        + FleetTable.pad(row.3, 17) + (row.4.isEmpty ? "" : "  \(row.4)")
    }
    return (table + notes).joined(separator: "\n")
  }

  var json: JSONValue {
    [
      "compared": .array(
        lines.map { line in
          [
            "expected": .integer(line.expected), "explained": .bool(line.isExplained),
            "name": .string(line.name), "origin": line.origin.map { .integer($0) } ?? .null,
            "reason": line.reason.map { .string($0) } ?? .null, "sent": .integer(line.sent),
          ]
        }), "notes": .strings(notes),
    ]
  }
}
