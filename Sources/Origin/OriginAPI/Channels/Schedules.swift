import Manifests
import System

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

/// `GET …/schedules`: those that wait in the order in which they are due, then the newest others by their ends.
package struct ScheduleList: Codable, Sendable {
  package let schedules: [ScheduledInfo]

  package init(schedules: [ScheduledInfo]) { self.schedules = schedules }
}
