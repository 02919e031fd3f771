import XCacheDevice

/// Rollouts: a release that goes to a part of the devices first. Each device decides by itself whether it is in.
extension Runtime {
  /// The app's version, such as `4.2.0`, for rollouts that name a range of versions; nil if it is unknown. It is never sent, and
  /// a change counts from the next poll on.
  public var appVersion: String? {
    get { device?.appVersion }
    set { device?.appVersion = newValue }
  }

  /// The groups that the user is in, such as `qa`, for rollouts that name groups. They are never sent, and a change counts from
  /// the next poll on.
  public var groups: Set<String> {
    get { device?.groups ?? [] }
    set { device?.groups = newValue }
  }

  /// Whether the version held is the candidate of the open rollout, as of the last poll.
  public var holdsCandidate: Bool { device?.holdsCandidate ?? false }

  /// Leaves the candidate of the open rollout: the next update goes to the version that everyone else has, and the device stays
  /// out of this rollout, whatever its share and groups.
  public func leaveCandidate() { device?.leaveCandidate() }
}
