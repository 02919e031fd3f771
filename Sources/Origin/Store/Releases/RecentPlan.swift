import Manifests
import System

/// The plan of the last large release, so that a release that is prepared and then made is planned once.
///
/// Kept only in memory, one at a time, and useless once anything was written to the database.
///
/// This is what was *worked out* from a request. What a token sent, so that its release needn't send it again, is the origin's
/// `PlanCache`, which outlives writes.
final class RecentPlan: Sendable {
  private struct Entry: Sendable {
    let request: ReleaseInput
    let plan: ReleasePlan
    /// The edition of the database that the plan is based on.
    let edition: Int
  }

  private let kept = Locked<Entry?>(nil)

  /// The number of changes from which keeping a plan is worth its memory.
  private static let worthKeeping = 1000

  /// The plan of a request, if it is based on the current state of the database.
  /// - Parameters:
  ///   - request: the release to be made.
  ///   - edition: the database's current edition (`Connections.edition`).
  func plan(of request: ReleaseInput, at edition: Int) -> ReleasePlan? {
    guard let kept = kept.withLock({ $0 }), kept.edition == edition, kept.request.isPlanned(as: request)
    else { return nil }
    return kept.plan
  }

  func keep(_ plan: ReleasePlan, of request: ReleaseInput, at edition: Int) {
    guard plan.union.count >= Self.worthKeeping else { return }
    kept.withLock { $0 = Entry(request: request, plan: plan, edition: edition) }
  }

  /// Frees the plan's memory.
  func drop() {
    // Freed outside the lock, because it may hold 100,000 URLs.
    _ = kept.withLock { kept in
      defer { kept = nil }
      return kept
    }
  }
}

extension ReleaseInput {
  /// Whether another request has the same plan, because everything that a plan is based on is the same.
  fileprivate func isPlanned(as other: ReleaseInput) -> Bool {
    app == other.app && channel == other.channel && author == other.author && hosts == other.hosts
      && ifVersion == other.ifVersion && replaces == other.replaces
      && publicURLForNew == other.publicURLForNew
      && rollout == other.rollout && ifNoRollout == other.ifNoRollout && act == other.act
      // Comparing dictionaries with the same storage is immediate, as for a release that names its preparation.
      && bundles == other.bundles
  }
}
