import Manifests
import OriginAPI
import Values

/// Acts that give a candidate to more devices although it fails too often.
extension RolloutCommand {
  static let yes = Option.flag("yes", short: "y", "don't ask, also while it fails too often")

  /// Says that the candidate fails too often, if it does, and asks whether to go on in spite of that.
  /// - Parameter share: the share that it is to go to; nil: all devices, at once.
  static func isConfirmed(_ share: Int?, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal)
    throws -> Bool
  {
    // A token that may not read is told by the act itself what else it may not do.
    guard let list = try? remote.api.rollouts(of: try remote.address).value, let open = list.open,
      let alarm = list.alarm, share.map({ $0 > open.share }) ?? true
    else { return true }
    if arguments.has("yes") {
      terminal.remark(alarm)
      return true
    }
    // While it is paused, a share lets nobody in.
    if share != nil, open.paused {
      terminal.remark(alarm)
      return true
    }
    let words = "-y does it in spite of that, `xcache rollout halt -m TEXT` takes it back"
    if arguments.has("json") {
      throw UsageError("\(alarm); nothing was changed, because with --json nothing can be asked: \(words)")
    }
    terminal.note(alarm)
    let what =
      share.map { "let in \(ShareText.percent($0)) of the devices" } ?? "make it the version of all devices"
    guard let answer = try terminal.confirms("\(what) in spite of that?") else {
      throw UsageError("nothing was changed, because there is no terminal to ask on: \(words)")
    }
    if !answer { terminal.note("nothing was changed") }
    return answer
  }
}

extension RolloutList {
  /// That the candidate fails too often, with numbers; nil if it doesn't, or the origin is too old to say.
  var alarm: String? {
    guard let open, let evidence else { return nil }
    let e = evidence.resumed?.e ?? evidence.e
    let isAlarmed = open.paused && evidence.pausesItself ? evidence.alarmedAt : nil
    guard isAlarmed != nil || Double(e) >= RampDecision.pauses else { return nil }
    let since =
      evidence.resumed == nil ? "" : ", of what is opened from \(evidence.resumed?.at.formatted ?? "") on"
    return
      "version \(open.version) fails too often: \(RolloutEvidenceLines.arm(evidence.candidate, "with it failed")), of the others "
      + "\(RolloutEvidenceLines.arm(evidence.control)); evidence against it: e = \(Count.grouped(e))\(since)"
      + (isAlarmed.map { "; paused by an alarm, \($0.formatted)" } ?? "")
  }
}
