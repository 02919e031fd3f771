/// What every answer of `configure.json` carries beside its news.
package struct AnswerExtras: Hashable, Sendable {
  /// What an operator may ask for.
  package static let intervals = 30...3600

  /// Seconds that devices shall wait between polls.
  package let interval: Int?
  /// The newest version of the policy document, once there is one.
  package let policy: Int64?
  /// The newest version of the prefetch document, once there is one.
  package let prefetch: Int64?

  package static let none = AnswerExtras()

  package init(interval: Int? = nil, policy: Int64? = nil, prefetch: Int64? = nil) {
    self.interval = interval
    self.policy = policy
    self.prefetch = prefetch
  }
}
