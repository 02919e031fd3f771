import Manifests

/// `GET …/adoption/series?step=hour&points=48`: what devices ran and what went wrong on them, over time.
package struct AdoptionSeries: Codable, Sendable {
  /// `minute`, `hour`, `day` or `week`.
  package let step: String
  /// When the first point begins, and each of the others so many seconds after the one before; the last one isn't over.
  package let from: Moment
  package let seconds: Int
  package let points: Int
  /// The newest version first; at most 12, then words for the rest.
  package let versions: [Version]
  /// Sorted by reason; by the minute there are none.
  package let failures: [Reason]

  package init(
    step: String, from: Moment, seconds: Int, points: Int, versions: [Version], failures: [Reason]
  ) {
    self.step = step
    self.from = from
    self.seconds = seconds
    self.points = points
    self.versions = versions
    self.failures = failures
  }

  /// The polls that reported one version.
  package struct Version: Codable, Sendable {
    /// A number; `other`: further ones; `none`: polls of devices that had nothing.
    package let version: String
    /// One for each point.
    package let polls: [Int64]

    package init(version: String, polls: [Int64]) {
      self.version = version
      self.polls = polls
    }
  }

  /// The failures of one kind.
  package struct Reason: Codable, Sendable {
    package let reason: String
    /// One for each point.
    package let failures: [Int64]

    package init(reason: String, failures: [Int64]) {
      self.reason = reason
      self.failures = failures
    }
  }
}

extension OriginClient {
  /// - Parameters:
  ///   - step: `minute` (of the last hour), `hour`, `day` or `week`.
  ///   - points: how many, the last one being now.
  package func series(of channel: ChannelAddress, step: String, points: Int) throws(OriginError)
    -> OriginAnswer<AdoptionSeries>
  {
    try get("\(channel.path)/adoption/series?step=\(step)&points=\(points)")
  }
}
