import Manifests
import System

/// `GET …/adoption/series?step=hour&points=48`: the versions that devices ran, and their failures, over time.
package struct AdoptionSeries: Codable, Sendable {
  /// `minute`, `hour`, `day` or `week`.
  package let step: String
  /// When the first point begins; each later one begins `seconds` after the one before. The last point isn't over yet.
  package let from: Moment
  package let seconds: Int
  package let points: Int
  /// The newest version first; 12 at most, then words for the rest.
  package let versions: [Version]
  /// Sorted by reason; empty if `step` is `minute`.
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
    /// A number, `other` for further ones, or `none` for polls of devices that had nothing.
    package let version: String
    /// One number per point. Where a shared cache answers the polls, it is worked out from devices' batches, by when these came.
    package let polls: [Int64]

    package init(version: String, polls: [Int64]) {
      self.version = version
      self.polls = polls
    }
  }

  /// The failures of one kind.
  package struct Reason: Codable, Sendable {
    package let reason: String
    /// One number per point.
    package let failures: [Int64]

    package init(reason: String, failures: [Int64]) {
      self.reason = reason
      self.failures = failures
    }
  }
}
