import Manifests
import System
import Trust
import Values

// What `sign` would say of a version that isn't made yet: for dry runs, and for whoever has to sign it first.
extension Store {
  /// What a planned release would make of the bundles that it is about, and whether devices would take them; empty in a channel without a
  /// root, or with one that is off.
  /// - Throws: what `sign` refuses besides a missing signature: `tooManyBundles`, `floorBesideRollout`.
  func trust(of plan: ReleasePlan, _ request: ReleaseInput) throws(StoreError) -> [BundleTrust] {
    guard plan.namesBundles else { return [] }
    return try connections.reading { (db) throws(StoreError) in
      try PlannedSigning(plan, request, in: db)?.bundles() ?? []
    }
  }
}

extension Database {
  /// What a planned rollback would make of its bundles, and whether devices would take them; empty as above.
  /// - Parameter release: the release as which it is made; nil if it isn't.
  /// - Throws: as above.
  func trust(
    of plan: RollbackPlan, _ request: RollbackInput, as release: (plan: ReleasePlan, input: ReleaseInput)?
  ) throws(StoreError) -> [BundleTrust] {
    guard plan.channel.bundlesSince != nil, let trust = try trust(ofChannel: plan.channel.id),
      !trust.root.isOff
    else { return [] }
    var changed: [BundleName: ChannelTrust.Content?] = [:]
    for bundle in plan.bundles {
      changed[bundle.info.name] = .some(
        ChannelTrust.Content(bundle.info.name, try contents(ofBundle: bundle.info.id, at: plan.target)))
    }
    if let release {
      try PlannedSigning(release.plan, release.input, in: self)?.check()
    } else if plan.isChange {
      try PlannedSigning(
        channel: plan.channel, trust, changed: changed, given: request.statements, in: self
      ).check()
    }
    var bundles: [BundleTrust] = []
    for bundle in plan.bundles {
      guard case .some(.some(let content)) = changed[bundle.info.name] else { continue }
      var signed = try trust.choice(of: content, given: request.statements, in: self).trust
      signed.target = plan.target
      bundles.append(signed)
    }
    return bundles
  }
}

/// Checks a planned version as `Database.sign` checks it once it is made.
private struct PlannedSigning {
  private let app: AppName
  private let name: ChannelName
  /// The channel; nil if it is yet to be created.
  private let channel: ChannelInfo?
  private let trust: ChannelTrust
  /// The bundles that the version changes; nil for those that it empties.
  private let changed: [BundleName: ChannelTrust.Content?]
  private let given: [Signed<ReleaseStatement>]
  private let db: Database
  private var effect = RolloutEffect.none
  /// The bundles that the request is about.
  private var reported: [BundleName] = []
  /// The bundles of a candidate that is made again.
  private var candidateBundles: [BundleName] = []

  /// Nil in an app without a root, or with one that is off.
  init?(_ plan: ReleasePlan, _ request: ReleaseInput, in db: Database) throws(StoreError) {
    let trust =
      if let channel = plan.channel {
        try db.trust(ofChannel: channel.id)
      } else {
        try db.trust(of: request.app, request.channel)
      }
    guard let trust, !trust.root.isOff else { return nil }
    var changed: [BundleName: ChannelTrust.Content?] = [:]
    for bundle in plan.bundles where !bundle.steps.isEmpty {
      changed[bundle.name] = .some(try Self.content(of: bundle, in: plan.channel, db))
    }
    (app, name, channel) = (request.app, request.channel, plan.channel)
    (self.trust, self.changed, given, self.db) = (trust, changed, request.statements, db)
    effect = plan.effect
    reported = plan.reported.map(\.name)
    candidateBundles = plan.candidateBundles
  }

  /// A version that opens no rollout, where none is open.
  init(
    channel: ChannelInfo, _ trust: ChannelTrust, changed: [BundleName: ChannelTrust.Content?],
    given: [Signed<ReleaseStatement>], in db: Database
  ) {
    (app, name, self.channel) = (channel.app, channel.name, channel)
    (self.trust, self.changed, self.given, self.db) = (trust, changed, given, db)
  }

  /// What a bundle will contain.
  private static func content(of bundle: ReleasePlan.Bundle, in channel: ChannelInfo?, _ db: Database)
    throws(StoreError) -> ChannelTrust.Content?
  {
    var contents: [ResourceURL: ResourceContent] = [:]
    if let channel, let info = bundle.info {
      for (url, content) in try db.contents(ofBundle: info.id, at: channel.version) {
        contents[url] = content
      }
    }
    for step in bundle.steps { contents[step.url] = step.new }
    return ChannelTrust.Content(
      bundle.name, contents.sorted { $0.key < $1.key }.map { (url: $0.key, content: $0.value) })
  }

  /// The bundles that the request is about, with the statements that their devices would get.
  func bundles() throws(StoreError) -> [BundleTrust] {
    try check()
    var bundles: [BundleTrust] = []
    for name in reported.sorted() {
      guard case .some(.some(let content)) = changed[name] else { continue }
      bundles.append(try trust.choice(of: content, given: given, in: db).trust)
    }
    return bundles
  }

  /// - Throws: `tooManyBundles`, `floorBesideRollout`.
  func check() throws(StoreError) {
    let version = try contents(of: channel?.version ?? .none, with: changed)
    try Database.requireFew(version.count, app, name)
    let kept = given.filter { version[$0.document.bundle]?.digest == $0.document.content }
    let raising = Set(kept.filter { $0.document.floor > .zero }.map(\.document.bundle))
    if let channel {
      switch effect {
      case .opens:
        let full = try db.signable(of: channel.id, at: channel.full.version)
        _ = try db.floors(
          of: try raised(in: version).union(raising), in: channel, trust, [full, version],
          candidate: channel.nextVersion, given: kept)
      case .remakes:
        try checkCandidate(of: channel, on: version, kept, raising)
      default: break
      }
    }
    if raising.isEmpty { return }
    for other in try db.channels()
    where other.appID == trust.appID && other.id != channel?.id && other.bundlesSince != nil {
      _ = try db.floors(
        of: raising, in: other, full: other.full.version, candidate: other.rollout?.candidate, given: kept)
    }
  }

  /// Checks the candidate that is made again on top of the version.
  private func checkCandidate(
    of channel: ChannelInfo, on version: [BundleName: ChannelTrust.Content],
    _ kept: [Signed<ReleaseStatement>], _ raising: Set<BundleName>
  ) throws(StoreError) {
    guard let rollout = channel.rollout else { return }
    let held = try db.signable(of: channel.id, at: rollout.candidate)
    var again: [BundleName: ChannelTrust.Content?] = [:]
    for name in candidateBundles { again[name] = .some(held[name]) }
    var candidate = version
    for (name, content) in again { candidate[name] = content }
    try Database.requireFew(candidate.count, app, name)
    let floors = try db.floors(
      of: try raised(in: version).union(raising), in: channel, trust, [version], candidate: nil, given: kept)
    var below: [String] = []
    for case (let name, .some(let content)) in again {
      let signed = try trust.choice(of: content, in: db).trust
      guard let serial = signed.statement?.document.serial, signed.problem == nil else { continue }
      if let floor = floors[name], serial < floor { below.append(name.text) }
    }
    guard below.isEmpty else {
      throw .floorBesideRollout(app, name, rollout.candidate, below.sorted())
    }
    _ = try db.floors(
      of: Set(again.keys), in: channel, trust, [version, candidate],
      candidate: ManifestVersion(channel.nextVersion.number + 1), given: kept)
  }

  /// What the bundles contain once these have changed.
  private func contents(of version: ManifestVersion, with changed: [BundleName: ChannelTrust.Content?])
    throws(StoreError) -> [BundleName: ChannelTrust.Content]
  {
    var contents =
      try channel.map { (channel) throws(StoreError) in
        try db.signable(of: channel.id, at: version)
      } ?? [:]
    for (name, content) in changed { contents[name] = content }
    return contents
  }

  /// The changed bundles whose statements leave a floor.
  private func raised(in version: [BundleName: ChannelTrust.Content]) throws(StoreError) -> Set<BundleName> {
    var raised: Set<BundleName> = []
    for name in changed.keys {
      guard let content = version[name] else { continue }
      let signed = try trust.choice(of: content, given: given, in: db).trust
      if let floor = signed.statement?.document.floor, floor > .zero { raised.insert(name) }
    }
    return raised
  }
}

extension ChannelTrust.Content {
  /// Nil for an empty bundle.
  fileprivate init?(_ bundle: BundleName, _ contents: [(url: ResourceURL, content: ResourceContent)]) {
    guard let digest = Database.digest(of: contents) else { return nil }
    self.init(bundle: bundle, digest: digest) { () throws(StoreError) in
      contents.flatMap { [$0.url] + $0.content.fallbacks.prefixes(of: $0.url) }
    }
  }
}
