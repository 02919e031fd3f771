import Manifests
import System
import Trust
import Values

// What every act goes through that makes a version of a manifest or a prefetch config.
extension Database {
  /// Records what the bundles contain that a version changed, keeps the statements that came with it, and refuses it if devices would
  /// refuse one of its bundles. Called in the transaction of the release, once its rows are written.
  ///
  /// - Parameters:
  ///   - channel: the channel, whose entries name their bundle, or else nothing happens.
  ///   - version: the version.
  ///   - full: the full version before it: what changed since is checked.
  ///   - given: statements that came with the request.
  ///   - isCandidate: whether it isn't for all devices; then no floor rises yet.
  ///   - author: who sent the statements.
  ///   - now: when, in milliseconds since 1970.
  /// - Returns: the changed bundles with their statements; none if the root is off.
  /// - Throws: `unsigned`, with all bundles that devices would refuse.
  @discardableResult
  func sign(
    _ channel: ChannelInfo, at version: ManifestVersion, after full: ManifestVersion,
    with given: [Signed<ReleaseStatement>] = [], isCandidate: Bool = false, by author: String, now: Int64
  ) throws(StoreError) -> [BundleTrust] {
    guard channel.bundlesSince != nil, let trust = try trust(ofChannel: channel.id) else { return [] }
    try recordContents(of: channel.id, at: version)
    if trust.root.isOff { return [] }
    guard try contents(of: channel.id, at: version).count <= AnswerTrust.releaseLimit else {
      throw .tooManyBundles(channel.app, channel.name, limit: AnswerTrust.releaseLimit)
    }
    var signed: [BundleTrust] = []
    for row in try contents(of: channel.id, at: version, changedAfter: full) {
      signed.append(try choice(of: row, at: version, trust, given: given).trust)
    }
    try requireSigned(signed, in: channel)
    // Not a moment later than the release: answers from it on have no need of them.
    let at = try stamp(of: version, in: channel.id)?.at.milliseconds ?? now
    try keep(given, of: channel.id, at: version, trust, by: author, now: at)
    if !isCandidate { try raiseFloors(of: channel.id, to: signed) }
    return signed
  }

  /// The statement of a bundle of a version.
  func choice(
    of row: ContentRow, at version: ManifestVersion, _ trust: ChannelTrust,
    given: [Signed<ReleaseStatement>] = []
  ) throws(StoreError) -> ChannelTrust.Choice {
    try trust.choice(
      of: .init(bundle: row.name, digest: row.digest) { () throws(StoreError) in
        try self.urls(ofBundle: row.id, at: version)
      }, given: given, in: self)
  }

  /// - Throws: `unsigned`.
  private func requireSigned(_ signed: [BundleTrust], in channel: ChannelInfo) throws(StoreError) {
    let unsigned = signed.unsigned(in: channel.name)
    guard unsigned.isEmpty else { throw .unsigned(channel.app, unsigned) }
  }

  /// Keeps those statements that devices take for what the version has.
  private func keep(
    _ given: [Signed<ReleaseStatement>], of channel: Int64, at version: ManifestVersion,
    _ trust: ChannelTrust,
    by author: String, now: Int64
  ) throws(StoreError) {
    if given.isEmpty { return }
    let rows = Dictionary(try contents(of: channel, at: version).map { ($0.name, $0) }) { $1 }
    for signed in given {
      guard let row = rows[signed.document.bundle] else { continue }
      let content = ChannelTrust.Content(bundle: row.name, digest: row.digest) { () throws(StoreError) in
        try self.urls(ofBundle: row.id, at: version)
      }
      let floor = try floor(of: row.name.text, in: trust)
      guard try trust.verdict(on: signed, of: content, floor: floor).failure == nil else { continue }
      try keep(signed, ofApp: trust.appID, by: author, now: now)
    }
  }

  func raiseFloors(of channel: Int64, to signed: [BundleTrust]) throws(StoreError) {
    for bundle in signed where bundle.problem == nil {
      guard let statement = bundle.statement?.document else { continue }
      try raiseFloor(of: bundle.bundle.text, in: channel, to: statement.floor)
    }
  }

  /// Raises the floors of the bundles of a candidate that became the full version.
  func raiseFloors(of channel: ChannelInfo, at version: ManifestVersion, after full: ManifestVersion)
    throws(StoreError)
  {
    guard channel.bundlesSince != nil, let trust = try trust(ofChannel: channel.id), !trust.root.isOff else {
      return
    }
    var signed: [BundleTrust] = []
    for row in try contents(of: channel.id, at: version, changedAfter: full) {
      signed.append(try choice(of: row, at: version, trust).trust)
    }
    try raiseFloors(of: channel.id, to: signed)
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
    if failure == .prefetchMissing, let stored = try prefetchStatements(of: digest, trust.appID).first {
      failure = trust.verdict(on: stored, of: digest, floor: floor).failure ?? failure
    }
    guard let signed = try trust.statement(forPrefetch: content, in: self) else {
      throw .unsignedPrefetch(channel.app, channel.name, failure)
    }
    if !isCandidate {
      try raiseFloor(of: ChannelTrust.prefetch, in: channel.id, to: signed.document.floor)
    }
  }

  /// Raises the floor of prefetch configs to what the statement of one leaves that became the channel's.
  func raisePrefetchFloor(of channel: ChannelInfo, to content: [UInt8]) throws(StoreError) {
    guard let trust = try trust(ofChannel: channel.id),
      let signed = try trust.statement(forPrefetch: content, in: self)
    else { return }
    try raiseFloor(of: ChannelTrust.prefetch, in: channel.id, to: signed.document.floor)
  }
}

extension Store {
  /// What a planned release would make of the bundles that it is about, and whether devices would take them; empty in a channel without a
  /// root, or with one that is off.
  func trust(of plan: ReleasePlan, _ request: ReleaseInput) throws(StoreError) -> [BundleTrust] {
    guard plan.namesBundles else { return [] }
    return try connections.reading { (db) throws(StoreError) in
      let trust =
        if let channel = plan.channel {
          try db.trust(ofChannel: channel.id)
        } else {
          try db.trust(of: request.app, request.channel)
        }
      guard let trust, !trust.root.isOff else { return [] }
      var bundles: [BundleTrust] = []
      for bundle in plan.reported where !bundle.steps.isEmpty {
        var contents: [ResourceURL: ResourceContent] = [:]
        if let channel = plan.channel, let info = bundle.info {
          for (url, content) in try db.contents(ofBundle: info.id, at: channel.version) {
            contents[url] = content
          }
        }
        for step in bundle.steps { contents[step.url] = step.new }
        let urls = contents.keys.sorted()
        let items = urls.compactMap { url in contents[url].map { (url: url, content: $0) } }
        guard let digest = Database.digest(of: items) else { continue }
        bundles.append(
          try trust.choice(
            of: .init(bundle: bundle.name, digest: digest) { () throws(StoreError) in urls },
            given: request.statements, in: db
          ).trust)
      }
      return bundles.sorted { $0.bundle < $1.bundle }
    }
  }
}

extension Database {
  /// What a planned rollback would make of its bundles, and whether devices would take them; empty as above.
  func trust(of plan: RollbackPlan, _ request: RollbackInput) throws(StoreError) -> [BundleTrust] {
    guard plan.channel.bundlesSince != nil, let trust = try trust(ofChannel: plan.channel.id),
      !trust.root.isOff
    else { return [] }
    var bundles: [BundleTrust] = []
    for bundle in plan.bundles {
      let items = try contents(ofBundle: bundle.info.id, at: plan.target)
      guard let digest = Self.digest(of: items) else { continue }
      let content = ChannelTrust.Content(bundle: bundle.info.name, digest: digest) {
        () throws(StoreError) in items.map(\.url)
      }
      bundles.append(try trust.choice(of: content, given: request.statements, in: self).trust)
    }
    return bundles
  }
}

extension [BundleTrust] {
  /// Those that devices would refuse.
  func unsigned(in channel: ChannelName) -> [UnsignedBundle] {
    compactMap { bundle in
      bundle.problem.map {
        UnsignedBundle(channel: channel, bundle: bundle.bundle, content: bundle.content, problem: $0)
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
