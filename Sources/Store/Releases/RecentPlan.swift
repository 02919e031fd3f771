import Manifests
import System

/// The large release that was planned last: one that is prepared and then made is worked out once.
///
/// In memory alone, one at a time, and of no use once anything was written to the database.
final class RecentPlan: Sendable {
  private struct Kept: Sendable {
    let request: ReleaseInput
    let plan: ReleasePlan
    /// Of the database that it was worked out from.
    let edition: Int
  }

  private let kept = Locked<Kept?>(nil)

  /// Changes from which on a plan is worth its memory.
  private static let worthKeeping = 1000

  /// The plan of a request, where it was worked out from the database as it is now.
  /// - Parameter edition: the database's (`Connections.edition`).
  func plan(of request: ReleaseInput, at edition: Int) -> ReleasePlan? {
    guard let kept = kept.withLock({ $0 }), kept.edition == edition, kept.request.isPlanned(as: request)
    else { return nil }
    return kept.plan
  }

  func keep(_ plan: ReleasePlan, of request: ReleaseInput, at edition: Int) {
    guard plan.union.count >= Self.worthKeeping else { return }
    kept.withLock { $0 = Kept(request: request, plan: plan, edition: edition) }
  }

  /// Gives its memory back.
  func drop() {
    // It may be 100,000 URLs, which others needn't wait for.
    _ = kept.withLock { kept in
      defer { kept = nil }
      return kept
    }
  }
}

extension ReleaseInput {
  /// Whether another request has the same plan: everything that one is worked out from is the same.
  fileprivate func isPlanned(as other: ReleaseInput) -> Bool {
    app == other.app && channel == other.channel && author == other.author && hosts == other.hosts
      && ifVersion == other.ifVersion && replaces == other.replaces
      && publicURLForNew == other.publicURLForNew
      // Of the same storage, as a preparation's are that a release names, dictionaries are the same at once.
      && bundles == other.bundles
  }
}
