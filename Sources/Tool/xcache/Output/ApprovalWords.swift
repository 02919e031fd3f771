import Manifests
import OriginAPI
import Publishing
import Values

// The words for approvals that an act waits for.
extension ScheduledInfo {
  /// Whether it waits for others to approve it.
  var isUnapproved: Bool { state == "waiting" && (approvals?.missing ?? 0) > 0 }

  /// Whether it waits for somebody, not only for its time.
  var isHeld: Bool { isUnsigned || isUnapproved }

  /// The approvals that it waits for: `1 approval (not yours)`, `1 more approval (of 2) by mobile-*`.
  var missingApprovals: String {
    guard let approvals else { return "no approval" }
    let count = approvals.given.isEmpty ? "\(approvals.missing)" : "\(approvals.missing) more"
    return "\(count) approval\(approvals.missing == 1 ? "" : "s")"
      + (approvals.given.isEmpty ? "" : " (of \(approvals.required))")
      + (approvals.by.map { " by \($0)" } ?? "") + (approvals.mayApprove ? "" : " (not yours)")
  }

  /// What has to be done so that it is made: `signed`, `approved` or both.
  var heldWords: String {
    isUnsigned ? isUnapproved ? "signed and approved" : "signed" : "approved"
  }

  /// The commands that it waits for.
  func nextCommands(_ channel: ChannelName) -> [String] {
    (isUnsigned && !isComplete && refusal == nil ? ["`xcache sign \(id)\(channel.option)`"] : [])
      + (isUnapproved ? ["`xcache approve \(id)`"] : [])
  }
}

extension ChannelProtection {
  /// `1 approval by mobile-*; steps of a rollout up to 5 % need none`
  var words: String {
    "\(approvals) approval\(approvals == 1 ? "" : "s")\(by.map { " by \($0)" } ?? "")"
      + (share == 0 ? "" : "; steps of a rollout up to \(ShareText.percent(share)) need none")
  }
}
