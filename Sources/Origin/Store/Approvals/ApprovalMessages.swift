import Manifests
import System
import Values

// What is said of acts that others have to approve.
extension StoreError {
  static func needsApprovalMessage(_ app: AppName, _ channel: ChannelName, _ required: Int) -> String {
    """
    channel "\(channel)" of app "\(app)" is protected: this waits for \(required == 1 ? "an approval" : "\(required) approvals") by \
    others; nothing was done. Send it again, and it waits; `xcache approve` lists what does
    """
  }

  static func approvalNotNeededMessage(_ act: ScheduledAct) -> String {
    "the scheduled act \(act.id) (\(act.summary)) takes no approval; it is carried out \(Timestamp.words(act.due))"
  }

  static func mayNotApproveMessage(_ act: ScheduledAct, _ refusal: ApprovalRefusal) -> String {
    let what = "act \(act.id) (\(act.summary))"
    return switch refusal {
    case .author:
      "\(what) was asked for by \(act.author): somebody else has to approve or reject it; "
        + "`xcache schedule cancel\(options(act.app, act.channel)) \(act.id)` takes it back"
    case .job: "\(what) is approved or rejected by a person, not by a CI job"
    case .notNamed(let approvers, let name):
      "\(what) is approved or rejected by \(approvers) (`xcache channel protect`), and you are \(name)"
    case .bundles(let bundles):
      "\(what) concerns more than the bundles \(bundles), which are all that your token is for; ask somebody whose rights "
        + "cover all of them"
    }
  }
}
