import Manifests
import System
import Trust
import Values

// What every act goes through that makes a version of a manifest or a prefetch config.
extension Database {
  /// Records what the bundles contain that a version changed, keeps the statements that came with it, and refuses it if devices would
  /// refuse one of its bundles. Called in the transaction of the release, once its rows are written, and again when a candidate becomes
  /// the full version.
  ///
  /// - Parameters:
  ///   - channel: the channel, whose entries name their bundle, or else nothing happens.
  ///   - version: the version.
  ///   - full: the full version before it: what changed since is checked.
  ///   - given: statements that came with the request.
  ///   - part: whose version it is.
  ///   - target: the version to which a rollback goes.
  ///   - author: who sent the statements.
  ///   - now: when, in milliseconds since 1970.
  /// - Returns: the changed bundles with their statements; none if the root is off.
  /// - Throws: `unsigned`, with all bundles that devices would refuse; `floorBesideRollout`, `tooManyBundles`.
  @discardableResult
  func sign(
    _ channel: ChannelInfo, at version: ManifestVersion, after full: ManifestVersion,
    with given: [Signed<ReleaseStatement>] = [], as part: SignedPart = .full,
    goingBackTo target: ManifestVersion? = nil, by author: String, now: Int64
  ) throws(StoreError) -> [BundleTrust] {
    guard channel.bundlesSince != nil, let trust = try trust(ofChannel: channel.id) else { return [] }
    try recordContents(of: channel.id, at: version)
    if trust.root.isOff { return [] }
    try requireFewBundles(in: channel, at: version)
    var signed: [BundleTrust] = []
    for row in try contents(of: channel.id, at: version, changedAfter: full) {
      var bundle = try choice(of: row, at: version, trust, given: given).trust
      bundle.target = target
      signed.append(bundle)
    }
    try requireSigned(signed, in: channel)
    let at =
      if part == .completed {
        // Those who have the candidate get them, too.
        try timeAfterReleases(ofApp: trust.appID, now: now)
      } else {
        // Not a moment later than the release: answers from it on have no need of them.
        try stamp(of: version, in: channel.id)?.at.milliseconds ?? now
      }
    let kept = try keep(given, of: channel.id, at: version, trust, by: author, now: at)
    let raising = Set(given.filter { $0.document.floor > .zero }.map(\.document.bundle))
    let raised = Set(signed.filter { $0.statement.map { $0.document.floor > .zero } ?? false }.map(\.bundle))
    try raiseFloors(
      of: raising.union(raised), in: channel, full: part == .candidate ? full : version,
      candidate: part == .candidate ? version : nil, given: kept)
    try raiseFloors(of: raising, inApp: trust.appID, but: channel.id, given: kept)
    return signed
  }

  /// The statement of a bundle of a version.
  func choice(
    of row: ContentRow, at version: ManifestVersion, _ trust: ChannelTrust,
    given: [Signed<ReleaseStatement>] = []
  ) throws(StoreError) -> ChannelTrust.Choice {
    try trust.choice(of: content(of: row, at: version), given: given, in: self)
  }

  private func content(of row: ContentRow, at version: ManifestVersion) -> ChannelTrust.Content {
    ChannelTrust.Content(bundle: row.name, digest: row.digest) { () throws(StoreError) in
      try self.urls(ofBundle: row.id, at: version)
    }
  }

  /// - Throws: `unsigned`.
  private func requireSigned(_ signed: [BundleTrust], in channel: ChannelInfo) throws(StoreError) {
    let unsigned = signed.unsigned(in: channel.name)
    guard unsigned.isEmpty else { throw .unsigned(channel.app, unsigned) }
  }

  /// Keeps those statements that devices take for what the version has, and returns them.
  private func keep(
    _ given: [Signed<ReleaseStatement>], of channel: Int64, at version: ManifestVersion,
    _ trust: ChannelTrust,
    by author: String, now: Int64
  ) throws(StoreError) -> [Signed<ReleaseStatement>] {
    if given.isEmpty { return [] }
    var kept: [Signed<ReleaseStatement>] = []
    let rows = Dictionary(try contents(of: channel, at: version).map { ($0.name, $0) }) { $1 }
    for signed in given {
      guard let row = rows[signed.document.bundle] else { continue }
      let content = content(of: row, at: version)
      let floor = try floor(of: row.name.text, in: trust)
      guard try trust.verdict(on: signed, of: content, floor: floor).failure == nil else { continue }
      try keep(signed, ofApp: trust.appID, by: author, now: now)
      kept.append(signed)
    }
    return kept
  }

  // MARK: - Floors

  /// What the statements leave as floors that devices get for bundles of a channel.
  ///
  /// Devices that are in have raised theirs to what the candidate's statements leave, and may have to go back: no floor is above the
  /// statement of either version.
  ///
  /// - Parameters:
  ///   - bundles: those to look at; nil: all.
  ///   - given: statements of the request, as for `ChannelTrust.choice`.
  /// - Throws: `floorBesideRollout`.
  func floors(
    of bundles: Set<BundleName>?, in channel: ChannelInfo, full: ManifestVersion, candidate: ManifestVersion?,
    given: [Signed<ReleaseStatement>] = []
  ) throws(StoreError) -> [BundleName: Serial] {
    if let bundles, bundles.isEmpty { return [:] }
    guard let trust = try trust(ofChannel: channel.id), !trust.root.isOff else { return [:] }
    let versions = try [full, candidate].compactMap(\.self).map { (version) throws(StoreError) in
      try signable(of: channel.id, at: version)
    }
    return try floors(of: bundles, in: channel, trust, versions, candidate: candidate, given: given)
  }

  /// The same for versions that may be yet to be made: what their bundles contain.
  func floors(
    of bundles: Set<BundleName>?, in channel: ChannelInfo, _ trust: ChannelTrust,
    _ versions: [[BundleName: ChannelTrust.Content]], candidate: ManifestVersion?,
    given: [Signed<ReleaseStatement>]
  ) throws(StoreError) -> [BundleName: Serial] {
    var (floors, lowest): ([BundleName: Serial], [BundleName: Serial]) = ([:], [:])
    for version in versions {
      for (bundle, content) in version where bundles?.contains(bundle) ?? true {
        let signed = try trust.choice(of: content, given: given, in: self).trust
        guard signed.problem == nil, let statement = signed.statement?.document else { continue }
        floors[bundle] = max(floors[bundle] ?? .zero, statement.floor)
        lowest[bundle] = min(lowest[bundle] ?? statement.serial, statement.serial)
      }
    }
    let between = floors.filter { (bundle, floor) in lowest[bundle].map { $0 < floor } ?? false }
    if let candidate, !between.isEmpty {
      throw .floorBesideRollout(channel.app, channel.name, candidate, between.keys.sorted().map(\.text))
    }
    return floors
  }

  /// What each bundle of a version contains.
  func signable(of channel: Int64, at version: ManifestVersion) throws(StoreError)
    -> [BundleName: ChannelTrust.Content]
  {
    var contents: [BundleName: ChannelTrust.Content] = [:]
    for row in try self.contents(of: channel, at: version) {
      contents[row.name] = content(of: row, at: version)
    }
    return contents
  }

  /// Raises the floors of bundles of a channel to what the statements leave that its devices get.
  /// - Throws: `floorBesideRollout`.
  func raiseFloors(
    of bundles: Set<BundleName>?, in channel: ChannelInfo, full: ManifestVersion, candidate: ManifestVersion?,
    given: [Signed<ReleaseStatement>]
  ) throws(StoreError) {
    let floors = try floors(of: bundles, in: channel, full: full, candidate: candidate, given: given)
    for (bundle, floor) in floors { try raiseFloor(of: bundle.text, in: channel.id, to: floor) }
  }

  /// The same in each channel of an app, whose devices get statements that came for another one, too, where they are for it.
  func raiseFloors(
    of bundles: Set<BundleName>, inApp app: Int64, but known: Int64? = nil, given: [Signed<ReleaseStatement>]
  ) throws(StoreError) {
    if bundles.isEmpty { return }
    for channel in try channels()
    where channel.appID == app && channel.id != known && channel.bundlesSince != nil {
      try raiseFloors(
        of: bundles, in: channel, full: channel.full.version, candidate: channel.rollout?.candidate,
        given: given)
    }
  }

  /// Refuses more bundles than an answer can have statements.
  /// - Throws: `tooManyBundles`.
  func requireFewBundles(in channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) {
    try Self.requireFew(try contents(of: channel.id, at: version).count, channel.app, channel.name)
  }

  static func requireFew(_ bundles: Int, _ app: AppName, _ channel: ChannelName) throws(StoreError) {
    guard bundles <= AnswerTrust.releaseLimit else {
      throw .tooManyBundles(app, channel, limit: AnswerTrust.releaseLimit)
    }
  }

  // MARK: - Prefetch configs

  /// Keeps the statement that came with a prefetch config, and refuses the config if devices would. In an app without a root, nothing
  /// happens.
  ///
  /// - Throws: `unsignedPrefetch`.
  func sign(
    prefetch content: [UInt8], in channel: ChannelInfo, with given: Signed<PrefetchStatement>?,
    isCandidate: Bool = false, by author: String, now: Int64
  ) throws(StoreError) {
    guard let trust = try trust(ofChannel: channel.id), !trust.root.isOff else { return }
    let digest = SHA256.of(content)
    let floor = try floor(of: ChannelTrust.prefetch, in: trust)
    var failure = TrustFailure.prefetchMissing
    if let given {
      if let problem = trust.verdict(on: given, of: digest, floor: floor).failure {
        failure = problem
      } else {
        try keep(given, ofApp: trust.appID, by: author, now: now)
      }
    }
    if failure == .prefetchMissing, let stored = try prefetchStatements(of: digest, trust.appID).first?.signed
    {
      failure = trust.verdict(on: stored, of: digest, floor: floor).failure ?? failure
    }
    let statements = given.map { [$0] } ?? []
    guard let signed = try trust.statement(forPrefetch: content, given: statements, in: self) else {
      throw .unsignedPrefetch(channel.app, channel.name, failure)
    }
    // Devices that follow the candidate's have raised their floor to it, and may have to go back.
    if isCandidate, let held = try newest(.prefetch, of: channel.id),
      let below = try trust.statement(forPrefetch: held.content, in: self),
      below.document.serial < signed.document.floor
    {
      throw .floorBesideRollout(
        channel.app, channel.name, channel.rollout?.candidate ?? channel.nextVersion, [])
    }
    try raiseFloor(of: ChannelTrust.prefetch, in: channel.id, to: signed.document.floor)
  }

  /// Refuses the prefetch config of a candidate that becomes the channel's if devices would, as things are now.
  /// - Throws: `unsignedPrefetch`.
  func requireSigned(prefetch content: [UInt8], in channel: ChannelInfo) throws(StoreError) {
    guard let trust = try trust(ofChannel: channel.id), !trust.root.isOff,
      try trust.statement(forPrefetch: content, in: self) == nil
    else { return }
    // As when a root is pushed that has no keys for configs.
    if trust.root.prefetch.isEmpty, content == ChannelExtras.noPrefetch { return }
    let digest = SHA256.of(content)
    let floor = try floor(of: ChannelTrust.prefetch, in: trust)
    let stored = try prefetchStatements(of: digest, trust.appID).first?.signed
    let failure = stored.flatMap { trust.verdict(on: $0, of: digest, floor: floor).failure }
    throw .unsignedPrefetch(channel.app, channel.name, failure ?? .prefetchMissing)
  }

  /// Raises the floor of prefetch configs to what the statements leave that devices get for the channel's, and for the one that goes along
  /// with its candidate.
  /// - Parameter given: statements that came with the request, and are stored.
  /// - Throws: `floorBesideRollout`.
  func raisePrefetchFloor(of channel: ChannelInfo, given: [Signed<PrefetchStatement>]) throws(StoreError) {
    guard let trust = try trust(ofChannel: channel.id) else { return }
    var statements: [PrefetchStatement] = []
    for config in [try newest(.prefetch, of: channel.id), try candidatePrefetch(of: channel.id)] {
      guard let config,
        let signed = try trust.statement(forPrefetch: config.content, given: given, in: self)
      else { continue }
      statements.append(signed.document)
    }
    guard let floor = statements.map(\.floor).max() else { return }
    if let candidate = channel.rollout?.candidate, statements.contains(where: { $0.serial < floor }) {
      throw .floorBesideRollout(channel.app, channel.name, candidate, [])
    }
    try raiseFloor(of: ChannelTrust.prefetch, in: channel.id, to: floor)
  }
}

/// Whose version is signed.
enum SignedPart {
  /// That of all devices.
  case full
  /// A candidate.
  case candidate
  /// A candidate that becomes the full version.
  case completed
}

extension [BundleTrust] {
  /// Those that devices would refuse.
  package func unsigned(in channel: ChannelName) -> [UnsignedBundle] {
    compactMap { bundle in
      bundle.problem.map {
        UnsignedBundle(
          channel: channel, bundle: bundle.bundle, content: bundle.content, problem: $0, target: bundle.target
        )
      }
    }
  }

  /// Who signed what, for the audit trail.
  var signed: JSONValue {
    .array(
      map { bundle in
        [
          "bundle": .string(bundle.bundle.text), "content": .string(bundle.content.hex),
          "keys": .strings(bundle.signers.map(\.text)),
          "serial": bundle.statement.map { .integer($0.document.serial.number) } ?? .null,
        ]
      })
  }
}

extension AuditEvent {
  /// Adds who signed what; nothing in an app without a root.
  mutating func note(_ bundles: [BundleTrust]) {
    guard !bundles.isEmpty, var members = result.object else { return }
    members["signed"] = bundles.signed
    result = .object(members)
  }
}
