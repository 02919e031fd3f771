import Manifests
import Values

/// What a release does to the rollouts of its channel.
enum RolloutEffect: Hashable, Sendable {
  case none
  /// It is a candidate. A rollout that was open is superseded.
  case opens
  /// It takes the place of the candidate.
  case supersedes
  /// It has the candidate's content, so that the candidate becomes the full version; nothing is released.
  case completes
  /// It leaves the candidate's bundles alone: the candidate is made again on top of it.
  case remakes
  /// It takes those who have the candidate back.
  case halts
}

/// Plans a release while a rollout is open: on the content of the full version, though what is live is the candidate's.
struct RolloutPlanner {
  private let request: ReleaseInput
  private let channel: ChannelInfo
  private let rollout: Rollout
  private let db: Database
  /// The candidate's bundles.
  private let bundles: Set<BundleName>

  init(_ request: ReleaseInput, _ channel: ChannelInfo, _ rollout: Rollout, in db: Database)
    throws(StoreError)
  {
    self.request = request
    self.channel = channel
    self.rollout = rollout
    self.db = db
    bundles = Set(try db.bundles(of: rollout, in: channel.id).map(\.name))
  }

  func plan() throws(StoreError) -> ReleasePlan {
    let asked = Set(request.bundles.map(\.name))
    var wide = request
    for name in bundles.subtracting(asked).sorted() { wide.bundles.append(takingBack(name)) }
    // What only follows the full version again is no part of the request, which its token's hosts are about.
    let bounded = request.act == .halt || request.ignoresHosts ? 0 : request.bundles.count
    var plan = try ReleasePlanner.plan(wide, on: channel, bounded: bounded, in: db)
    plan.asked = asked
    // Those who have a candidate that only brought a prefetch config go back, too.
    if request.act == .halt, bundles.isEmpty {
      (plan.effect, plan.makesVersion) = (.halts, true)
      return plan
    }
    let back = try takingBack()
    let touched = touchedBundles(of: plan, asked, back)
    let isElsewhere = plan.bundles.contains { !bundles.contains($0.name) && !$0.steps.isEmpty }
    if touched.isEmpty, !isElsewhere { return unchanged(plan) }
    plan.effect = effect(plan, touchesCandidate: !touched.isEmpty)
    plan.keepsCandidate =
      (plan.effect == .completes || plan.effect == .supersedes)
      && plan.bundles.allSatisfy { !bundles.contains($0.name) || $0.steps.isEmpty }
    // Who goes back wants to be rid of the candidate, not to have all devices get it, unless it is a rollback itself.
    if plan.effect == .completes, request.kind == .rollback, channel.rollback != rollout.candidate {
      throw .haltInstead(channel.app, channel.name, rollout.candidate, steps: nil)
    }
    if plan.effect == .completes, request.candidatePrefetch == .refused, rollout.prefetch != nil {
      throw .wholeChannel(channel.app, channel.name, rollout.candidate)
    }
    switch plan.effect {
    case .none, .completes: plan.holder = channel.version
    case .remakes:
      plan.candidateBundles = bundles.sorted()
      try checkAgainstCandidate()
    default: break
    }
    if plan.effect == .none { return unchanged(plan) }
    // What all devices have is no candidate: it would hold no bundle of its own, and there would be nothing to halt.
    if plan.effect == .opens, FullComparison(plan, back: back).isEmpty { return unchanged(plan) }
    // A halt is told by what it takes back from those who have the candidate.
    if plan.isChange, plan.effect != .halts { plan.comparison = FullComparison(plan, back: back) }
    if request.ifNoRollout { throw .rolloutOpen(channel.app, channel.name, rollout.candidate) }
    return plan
  }

  private func effect(_ plan: ReleasePlan, touchesCandidate: Bool) -> RolloutEffect {
    if request.rollout != nil { return plan.isChange ? .opens : .none }
    if request.act == .halt { return .halts }
    if !touchesCandidate { return .remakes }
    return plan.isChange ? .supersedes : .completes
  }

  /// The change that makes a bundle what it is in the full version.
  private func takingBack(_ name: BundleName) -> BundleChange {
    BundleChange(name, .update(base: rollout.full, set: [:], remove: []))
  }

  /// What takes all of the candidate's bundles back to the full version.
  private func takingBack() throws(StoreError) -> ReleasePlan {
    var back = request
    back.bundles = bundles.sorted().map(takingBack)
    back.ifVersion = nil
    return try ReleasePlanner.plan(back, on: channel, bounded: 0, isComparison: true, in: db)
  }

  /// The candidate's bundles that are to be something else than in the full version. A rollback that names one means it.
  private func touchedBundles(of plan: ReleasePlan, _ asked: Set<BundleName>, _ back: ReleasePlan) -> Set<
    BundleName
  > {
    let both = asked.intersection(bundles)
    if both.isEmpty || request.kind == .rollback { return both }
    let steps = Self.wanted(back)
    let wanted = Self.wanted(plan)
    return both.filter { wanted[$0] != steps[$0] }
  }

  /// What each bundle gets under each URL that changes.
  private static func wanted(_ plan: ReleasePlan) -> [BundleName: [ResourceURL: ResourceContent.Identity?]] {
    var wanted: [BundleName: [ResourceURL: ResourceContent.Identity?]] = [:]
    for bundle in plan.bundles {
      wanted[bundle.name] = Dictionary(
        bundle.steps.map { ($0.url, $0.new?.identity) }, uniquingKeysWith: { $1 })
    }
    return wanted
  }

  /// Refuses what contradicts the candidate: it couldn't be made again.
  private func checkAgainstCandidate() throws(StoreError) {
    var others = request
    others.bundles.removeAll { bundles.contains($0.name) }
    if !others.bundles.isEmpty { _ = try ReleasePlanner.plan(others, on: channel, in: db) }
  }

  private func unchanged(_ plan: ReleasePlan) -> ReleasePlan {
    var plan = plan
    plan.union = []
    for index in plan.bundles.indices { plan.bundles[index].steps = [] }
    return plan
  }
}

extension ReleasePlan {
  /// The bundles that the answer reports: not those that only follow the full version again.
  var reported: [Bundle] { asked.map { asked in bundles.filter { asked.contains($0.name) } } ?? bundles }

  /// The version that has the wanted content, if nothing changes.
  var unchangedVersion: ManifestVersion {
    holder ?? channel?.full.version ?? .none
  }
}
