import Manifests

/// `GET …/adoption`: the versions that devices run, according to their polls, and the failures that they reported.
package struct AdoptionAnswer: Codable, Sendable {
  /// The current clock hour and the one before.
  package let hour: Polls
  /// The last 24 clock hours.
  package let day: Polls
  package let week: Polls
  /// Failures of the last week, most frequent first.
  package let failures: [Failure]
  /// What devices counted, newest version first; nil from older origins.
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
    /// Counts by the names in docs/protocol.md, "Reports"; an absent name means 0.
    package let counts: [String: Int64]

    package init(version: String, counts: [String: Int64]) {
      self.version = version
      self.counts = counts
    }
  }

  /// The polls in a span of time.
  package struct Polls: Codable, Sendable {
    package let polls: Int64
    package let versions: [Share]
    /// What the numbers were worked out from, if a shared cache answered polls; nil if all were counted, and from older origins.
    package var sample: Sample?

    package init(polls: Int64, versions: [Share], sample: Sample? = nil) {
      self.polls = polls
      self.versions = versions
      self.sample = sample
    }
  }

  /// What numbers of polls were worked out from where a shared cache answers the polls: batches of counts, which a share of the devices
  /// send. Devices that have no version yet send none, and are missing.
  package struct Sample: Codable, Hashable, Sendable {
    /// The number of batches.
    package let batches: Int64
    /// How far a version's share of the polls is from the truth at most, in 95 of 100 cases: in hundredths of a percentage point.
    package let margin: Int64

    package init(batches: Int64, margin: Int64) {
      self.batches = batches
      self.margin = margin
    }
  }

  /// The polls that reported one version.
  package struct Share: Codable, Sendable {
    package let polls: Int64
    /// A number, or a word for polls without one.
    package let version: String

    package init(polls: Int64, version: String) {
      self.polls = polls
      self.version = version
    }
  }

  /// Failures of one kind that devices reported.
  package struct Failure: Codable, Sendable {
    package let failures: Int64
    package let reason: String
    /// Empty if not reported.
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
