import Store

/// Decides which scheduled acts are begun beside one another.
///
/// Those of a lane follow each other in the order of their times. A channel has three: the steps of its rollouts, changes of its policy,
/// and its releases, which may wait for deltas or for the place that files are pushed to. So a pause follows the resume that was due before it. A step follows
/// the releases that were due before it, also after a time in which the origin didn't run; only a halt waits for none of them.
struct ScheduleLanes: Sendable {
  /// How many of each kind are at work at a time, in all channels.
  static let maxBusy = 8

  /// The lanes at work.
  private(set) var busy: Set<ScheduleLane> = []

  /// Returns the lanes that are to begin now, and counts them as being at work.
  /// - Parameter due: the lanes of what is due, the longest due first.
  mutating func begin(_ due: [ScheduleLane]) -> [ScheduleLane] {
    var begun: [ScheduleLane] = []
    for lane in due where !busy.contains(lane) {
      guard busy.count(where: { $0.kind == lane.kind }) < Self.maxBusy else { continue }
      busy.insert(lane)
      begun.append(lane)
    }
    return begun
  }

  /// A lane has nothing left that is due.
  mutating func end(_ lane: ScheduleLane) { busy.remove(lane) }
}
