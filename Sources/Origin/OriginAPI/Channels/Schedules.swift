import Manifests
import System
import Values

/// An act that is, or was, to be carried out later.
package struct ScheduledInfo: Codable, Hashable, Sendable {
  package let id: Int64
  /// What is done, such as `publish` or `rollout.set`.
  package let act: String
  /// The same in words.
  package let summary: String
  /// When it is to be done.
  package let due: Moment
  /// `waiting`, `done`, `failed`, `missed`, `cancelled`, or a state that only a newer origin knows.
  package let state: String
  /// Who scheduled it, and when.
  package let author: String
  package let at: Moment
  /// When it ended; nil while it waits.
  @OrNull package var endedAt: Moment?
  /// Whose token carried it out, or who cancelled it.
  @OrNull package var endedBy: String?
  /// The version that it made.
  @OrNull package var version: ManifestVersion?
  /// Why it failed or was missed or, while it waits, why it couldn't be carried out yet: a code of the API's problems, and words.
  @OrNull package var code: String?
  @OrNull package var reason: String?
  /// The signatures that a release waits for before its time counts; absent where it waits for none.
  package var signatures: [AwaitedSignatures]?
  /// The approvals that it waits for, or was given; absent where it takes none.
  package var approvals: ApprovalsInfo?

  package init(
    id: Int64, act: String, summary: String, due: Moment, state: String, author: String, at: Moment
  ) {
    self.id = id
    self.act = act
    self.summary = summary
    self.due = due
    self.state = state
    self.author = author
    self.at = at
  }
}

/// A statement of a release that waits for signatures.
package struct AwaitedSignatures: Codable, Hashable, Sendable {
  package let bundle: BundleName
  /// What is signed of the bundle.
  package let content: SHA256
  /// The statement, with the signatures that it has.
  package let envelope: JSONValue
  /// The ids of the keys that have signed it.
  package let keys: [String]
  /// How many more have to.
  package let missing: Int
  /// The ids of those that may.
  package let candidates: [String]
  /// Why devices would refuse it whoever signs it, such as `release-floor`, or `release-key` if no key that the root names has signed it;
  /// absent if further signatures complete it.
  package var problem: String?

  package init(
    bundle: BundleName, content: SHA256, envelope: JSONValue, keys: [String], missing: Int,
    candidates: [String]
  ) {
    self.bundle = bundle
    self.content = content
    self.envelope = envelope
    self.keys = keys
    self.missing = missing
    self.candidates = candidates
  }
}

/// `POST …/schedules/{id}/statements`: signatures for a release that waits for them.
package struct ScheduleStatementsRequest: Codable, Sendable {
  /// Envelopes of the statements that it waits for, with signatures.
  package let statements: [JSONValue]

  package init(statements: [JSONValue]) { self.statements = statements }
}

/// `GET …/schedules`: those that wait in the order in which they are due, then the newest others by their ends.
package struct ScheduleList: Codable, Sendable {
  package let schedules: [ScheduledInfo]

  package init(schedules: [ScheduledInfo]) { self.schedules = schedules }
}
