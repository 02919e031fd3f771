import Manifests

/// `GET …/adoption`: what devices run, as their polls tell, and what went wrong on them.
package struct AdoptionAnswer: Codable, Sendable {
  /// This clock hour and the one before.
  package let hour: Polls
  /// 24 clock hours.
  package let day: Polls
  package let week: Polls
  /// Of the last week, the most frequent first.
  package let failures: [Failure]
  /// What devices counted, newest version first; origins of before don't tell.
  package var reports: [Report]?

  package init(hour: Polls, day: Polls, week: Polls, failures: [Failure], reports: [Report]) {
    self.hour = hour
    self.day = day
    self.week = week
    self.failures = failures
    self.reports = reports
  }

  /// What devices counted while they had one version.
  package struct Report: Codable, Sendable {
    package let version: String
    /// By the names of docs/protocol.md, "Reports"; a name that isn't there didn't happen.
    package let counts: [String: Int64]

    package init(version: String, counts: [String: Int64]) {
      self.version = version
      self.counts = counts
    }
  }

  /// The polls of a span of time.
  package struct Polls: Codable, Sendable {
    package let polls: Int64
    package let versions: [Share]

    package init(polls: Int64, versions: [Share]) {
      self.polls = polls
      self.versions = versions
    }
  }

  /// The polls of one version.
  package struct Share: Codable, Sendable {
    package let polls: Int64
    /// A number, or a word for polls that have none.
    package let version: String

    package init(polls: Int64, version: String) {
      self.polls = polls
      self.version = version
    }
  }

  /// Failures of one kind that devices told.
  package struct Failure: Codable, Sendable {
    package let failures: Int64
    package let reason: String
    /// Empty: not told.
    package let url: String
    /// As in `Share`.
    package let version: String

    package init(failures: Int64, reason: String, url: String, version: String) {
      self.failures = failures
      self.reason = reason
      self.url = url
      self.version = version
    }
  }
}

extension OriginClient {
  /// What devices of a channel run.
  package func adoption(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<AdoptionAnswer> {
    try get("\(channel.path)/adoption")
  }
}
