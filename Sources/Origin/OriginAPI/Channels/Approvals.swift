import Manifests
import System
import Values

/// How many others have to approve what is done to a channel: the answer to `POST …/protect`, and a member of the channel's overview.
package struct ChannelProtection: Codable, Hashable, Sendable {
  /// How many approvals an act waits for, 0 to 9; 0: none.
  package let approvals: Int
  /// Who may approve: a pattern of the names of tokens and people; nil: whoever may decide over releases of the channel.
  @OrNull package var by: String?
  /// Steps of a rollout up to this share, of 10,000 devices, wait for no approval.
  package let share: Int

  package init(approvals: Int, by: String?, share: Int) {
    self.approvals = approvals
    self.share = share
    self.by = by
  }
}

/// `POST …/protect`: replaces all of the channel's protection; what isn't given is lifted.
package struct ProtectRequest: Codable, Sendable {
  /// 0 to 9; 0 ends the protection.
  package var approvals: Int?
  /// A pattern of names, in which `*` matches any characters and `?` one; nil: whoever may decide over releases.
  package var by: String?
  /// Of 10,000; nil: 0.
  package var share: Int?

  package init(approvals: Int, by: String? = nil, share: Int? = nil) {
    self.approvals = approvals
    self.by = by
    self.share = share
  }
}

/// The approvals that an act waits for, or was given.
package struct ApprovalsInfo: Codable, Hashable, Sendable {
  /// How many it takes.
  package let required: Int
  /// Those that it has, in the order in which they were given.
  package let given: [GivenApproval]
  /// How many more it takes.
  package let missing: Int
  /// Who may approve, if the channel limits that: a pattern of names.
  package var by: String?
  /// Whether whoever asks may approve it now.
  package let mayApprove: Bool
  /// Why not, in words; absent if they may.
  package var why: String?

  package init(
    required: Int, given: [GivenApproval], missing: Int, by: String?, mayApprove: Bool, why: String?
  ) {
    self.required = required
    self.given = given
    self.missing = missing
    self.by = by
    self.mayApprove = mayApprove
    self.why = why
  }
}

/// One approval of an act.
package struct GivenApproval: Codable, Hashable, Sendable {
  /// Who gave it.
  package let name: String
  /// When.
  package let at: Moment

  package init(name: String, at: Moment) {
    self.name = name
    self.at = at
  }
}

/// `POST …/schedules/{id}/approve`; the answer is the act's `ScheduledInfo`.
package struct ApproveRequest: Codable, Sendable {
  /// A remark for the audit trail.
  package var message: String?

  package init(message: String? = nil) { self.message = message }
}

/// `POST …/schedules/{id}/reject`; the answer is the act's `ScheduledInfo`.
package struct RejectRequest: Codable, Sendable {
  /// Why; required.
  package var message: String?

  package init(message: String) { self.message = message }
}

/// `GET …/schedules/{id}/preview`: what the act would do if it were carried out now.
package struct SchedulePreview: Codable, Sendable {
  /// The act.
  package let schedule: ScheduledInfo
  /// What its request would be answered now: a `ReleaseAnswer`, `PromotionAnswer`, `DocumentChangeAnswer` or `RolloutAnswer`, as its `act`
  /// says; nothing is done.
  package let answer: JSONValue
  /// For a change of the policy or the prefetch config: the document as it is now, and as it would be; absent for other acts.
  package var current: JSONValue?
  package var document: JSONValue?

  package init(schedule: ScheduledInfo, answer: JSONValue) {
    self.schedule = schedule
    self.answer = answer
  }
}

/// An act that waits for approvals or signatures, and where.
package struct WaitingAct: Codable, Hashable, Sendable {
  package let app: AppName
  package let channel: ChannelName
  /// The act; its members are beside those two.
  package let schedule: ScheduledInfo

  package init(app: AppName, channel: ChannelName, schedule: ScheduledInfo) {
    self.app = app
    self.channel = channel
    self.schedule = schedule
  }

  private enum CodingKeys: CodingKey { case app, channel }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    app = try container.decode(AppName.self, forKey: .app)
    channel = try container.decode(ChannelName.self, forKey: .channel)
    schedule = try ScheduledInfo(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(app, forKey: .app)
    try container.encode(channel, forKey: .channel)
    try schedule.encode(to: encoder)
  }
}

/// `GET /waiting`: the acts of all channels that the token may read which wait for approvals or signatures, the oldest first.
package struct WaitingList: Codable, Sendable {
  package let acts: [WaitingAct]

  package init(acts: [WaitingAct]) { self.acts = acts }
}
