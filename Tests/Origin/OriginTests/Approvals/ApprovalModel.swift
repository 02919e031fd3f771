/// What has to become of acts that wait for approvals. It knows nothing of how an origin does it.
struct ApprovalModel {
  enum State: String {
    case waiting, done, failed, missed, cancelled
  }

  /// Someone with a token, and whose approvals count as one person's.
  struct Caller: Hashable {
    let key: String
    let token: String
    var isJob = false
  }

  struct Act {
    let author: Caller
    /// The bundle that it releases, and nobody else does.
    let bundle: String
    /// How many approvals the channel took when it was asked for.
    let asked: Int
    var due: Int64
    /// By the keys of those who approved, with the tokens that they did so with.
    var approvals: [String: String] = [:]
    var state = State.waiting
  }

  static let day: Int64 = 86_400_000
  var now: Int64
  /// How many approvals the channel takes.
  var takes = 0
  var acts: [Int64: Act] = [:]
  var revoked: Set<String> = []

  private func given(_ act: Act) -> Set<String> {
    Set(act.approvals.filter { !revoked.contains($0.value) }.keys)
  }

  func required(_ act: Act) -> Int { max(act.asked, takes) }
  func isReady(_ act: Act) -> Bool { given(act).count >= required(act) }
  private func isExpired(_ act: Act) -> Bool { !isReady(act) && act.due <= now - 30 * Self.day }

  mutating func ask(_ id: Int64, by author: Caller, bundle: String, due: Int64) {
    acts[id] = Act(author: author, bundle: bundle, asked: takes, due: due)
  }

  /// Why a decision is refused; nil if it isn't.
  private func refusal(_ act: Act, _ caller: Caller) -> String? {
    if act.state != .waiting { return "schedule-over" }
    if required(act) == 0 { return "no-approval-needed" }
    if caller.isJob { return "not-approver" }
    if caller.key == act.author.key { return "own-act" }
    return isExpired(act) ? "schedule-over" : nil
  }

  /// - Returns: the code of the refusal; nil if it is taken, or changes nothing.
  mutating func approve(_ id: Int64, by caller: Caller) -> String? {
    guard var act = acts[id] else { return "unknown-schedule" }
    if act.state == .done, act.approvals[caller.key] != nil { return nil }
    if let refusal = refusal(act, caller) { return refusal }
    if given(act).contains(caller.key) { return nil }
    act.approvals[caller.key] = caller.token
    if isReady(act) {
      if revoked.contains(act.author.token) { return "author-ended" }
      act.due = max(act.due, now)
    }
    acts[id] = act
    return nil
  }

  mutating func reject(_ id: Int64, by caller: Caller) -> String? {
    guard let act = acts[id] else { return "unknown-schedule" }
    if let refusal = refusal(act, caller) { return refusal }
    acts[id]?.state = .cancelled
    return nil
  }

  mutating func cancel(_ id: Int64) -> String? {
    guard acts[id]?.state == .waiting else { return "schedule-over" }
    acts[id]?.state = .cancelled
    return nil
  }

  mutating func protect(_ takes: Int) {
    let lacked = acts.filter { $0.value.state == .waiting && !isReady($0.value) }.keys
    self.takes = takes
    // What the protection held back isn't late once it doesn't any more.
    for id in lacked { if let act = acts[id], isReady(act) { acts[id]?.due = max(act.due, now) } }
  }

  /// Everything that is due is carried out.
  mutating func run() {
    for (id, act) in acts where act.state == .waiting && act.due <= now {
      if isReady(act) {
        acts[id]?.state =
          now - act.due > Self.day ? .missed : revoked.contains(act.author.token) ? .failed : .done
      } else if isExpired(act) {
        acts[id]?.state = .missed
      }
    }
  }
}
