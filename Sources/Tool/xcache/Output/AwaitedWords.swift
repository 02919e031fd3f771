import Manifests
import OriginAPI
import Publishing
import System
import Values

/// The words for signatures that a release waits for.
enum AwaitedWords {
  /// `1 more signature (of 2), by one of 60303f8b…, 9a01…`
  static func text(missing: Int, of needed: Int, by keys: [String]) -> String {
    let by =
      keys.isEmpty
      ? ", and the root names no further key for it"
      : ", by \(keys.count > missing ? "\(count(missing)) of " : "")\(list(keys))"
    return "\(missing) more \(missing == 1 ? "signature" : "signatures") (of \(needed))\(by)"
  }

  /// Names keys by the beginnings of their ids, as `trust status` does.
  static func list(_ keys: [String]) -> String {
    keys.isEmpty ? "nobody" : keys.map { $0.prefix(16) + "…" }.joined(separator: ", ")
  }

  private static func count(_ missing: Int) -> String { missing == 1 ? "one" : "\(missing)" }

  /// What several bundles lack: once if it is the same, else by bundle.
  static func text(_ lacking: [LackingSignatures]) -> String {
    let all = lacking.map {
      ($0.bundle.text, text(missing: $0.missing, of: $0.needed, by: $0.candidates.map(\.text)))
    }
    guard let first = all.first else { return "no signature" }
    if all.allSatisfy({ $0.1 == first.1 }) { return first.1 }
    return all.map { "\($0.1), of bundle \($0.0)" }.joined(separator: "; ")
  }
}

extension AwaitedSignatures {
  /// How many keys have to sign.
  var needed: Int { keys.count + missing }
}

extension ScheduledInfo {
  /// Whether it is a release that waits for signatures.
  var isUnsigned: Bool { state == "waiting" && signatures?.isEmpty == false }

  /// Its state as a word: that it waits for signatures, or for approvals, is one of its own, and so is that somebody rejected it.
  var stateWord: String {
    isUnsigned
      ? "unsigned"
      : isUnapproved ? "unapproved" : state == "cancelled" && code == "rejected" ? "rejected" : state
  }

  /// Why devices would refuse it, whoever signs it now; nil if nothing is known that keeps it from being completed.
  var refusal: String? { isUnsigned ? signatures?.compactMap(\.problem).first : nil }

  /// Whether a root that was pushed since asks for no more than it has.
  var isComplete: Bool { isUnsigned && signatures?.allSatisfy { $0.missing == 0 } == true }

  /// What it still takes, and what helps if that isn't a signature; it follows the release's name.
  func remainder(_ channel: ChannelName) -> String {
    if let refusal {
      return
        "can't be completed any more (\(refusal)): `xcache schedule cancel \(id)\(channel.option)`, and publish again"
    }
    if isComplete {
      return "has all signatures that the root asks for; `xcache sign \(id)\(channel.option)` releases it"
        + (isUnapproved ? " once it has \(missingApprovals)" : "")
    }
    let all = (isUnsigned ? [awaitedWords] : []) + (isUnapproved ? [missingApprovals] : [])
    return "waits for \(all.joined(separator: ", and for "))"
  }

  /// What it waits for: `1 more signature (of 2), by one of 60303f8b…, 9a01…`
  private var awaitedWords: String {
    let all = (signatures ?? []).filter { $0.missing > 0 }.map { awaited in
      (
        awaited.bundle.text,
        AwaitedWords.text(missing: awaited.missing, of: awaited.needed, by: awaited.candidates)
      )
    }
    guard let first = all.first else { return "no signature" }
    if all.allSatisfy({ $0.1 == first.1 }) { return first.1 }
    return all.map { "\($0.1), of bundle \($0.0)" }.joined(separator: "; ")
  }

  /// Whether it has a time of its own. One that waits for signatures or approvals without one is made as soon as it has them.
  var hasTime: Bool { due > at }

  /// When it is made, and until when it waits.
  var dueWords: String {
    let time =
      hasTime ? "due \(due.formatted), once it is \(heldWords)" : "made as soon as it is \(heldWords)"
    return "; \(time), and missed after \(AwaitedWords.end(of: self).formatted)"
  }
}

extension AwaitedWords {
  /// How long after its time an act waits for signatures and approvals, in milliseconds: 30 days, as the origin has it.
  private static let patience: Int64 = 30 * 86_400_000

  /// Until when an act waits for signatures and approvals.
  static func end(of act: ScheduledInfo) -> Moment {
    Moment(milliseconds: act.due.milliseconds + patience)
  }
}
