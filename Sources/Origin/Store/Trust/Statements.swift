import Manifests
import System
import Trust
import Values

extension Store {
  /// Keeps statements for contents that are stored.
  ///
  /// - Parameters:
  ///   - request: the statements.
  ///   - committed: called after the commit, if one of them is new.
  ///   - record: keeps the answer for retries.
  /// - Returns: how many weren't known before.
  /// - Throws: `unknownApp`, `noRoot`; `unsigned` and `unsignedPrefetch` for one that devices would refuse or whose content isn't stored;
  ///   then none is kept.
  package func keep(
    _ request: StatementsInput, committed: () -> Void = {}, record: AnswerRecord<Int>? = nil
  ) throws(StoreError) -> Int {
    if request.dryRun {
      return try connections.reading { (db) throws(StoreError) in
        try StatementKeeper(request, in: db).check()
        return request.releases.count + request.prefetch.count
      }
    }
    return try connections.transaction(
      keeping: record, now: clock(), then: { if $0 > 0 { committed() } }
    ) { (db) throws(StoreError) in
      let keeper = try StatementKeeper(request, in: db)
      try keeper.check()
      return try keeper.keep(now: clock())
    }
  }
}

/// Keeps statements inside the transaction that its caller began.
private struct StatementKeeper {
  private let request: StatementsInput
  private let db: Database
  private let appID: Int64
  private let root: TrustRoot
  private let channels: [ChannelInfo]

  init(_ request: StatementsInput, in db: Database) throws(StoreError) {
    self.request = request
    self.db = db
    appID = try db.requiredApp(request.app)
    guard let root = try db.roots(ofApp: appID).last else { throw .noRoot(request.app) }
    self.root = root.signed.document
    let id = appID
    channels = try db.channels().filter { $0.appID == id }
  }

  func check() throws(StoreError) {
    var unsigned: [UnsignedBundle] = []
    for signed in request.releases {
      for problem in try problems(of: signed) where !unsigned.contains(problem) { unsigned.append(problem) }
    }
    guard unsigned.isEmpty else { throw .unsigned(request.app, unsigned) }
    for channel in channels where channel.bundlesSince != nil {
      _ = try db.floors(
        of: raised, in: channel, full: channel.full.version, candidate: channel.rollout?.candidate,
        given: request.releases)
    }
    let configs = try db.prefetchDigests(ofApp: appID)
    for signed in request.prefetch {
      let content = signed.document.content
      for channel in signed.document.channels {
        let trust = trust(in: channel)
        let floor = try db.floor(of: ChannelTrust.prefetch, in: trust)
        let failure = trust.verdict(on: signed, of: content, floor: floor).failure
        if let failure = configs.contains(content) ? failure : .prefetchContent {
          throw .unsignedPrefetch(request.app, channel, failure)
        }
      }
    }
  }

  /// The bundles of which a statement leaves a floor.
  private var raised: Set<BundleName> {
    Set(request.releases.filter { $0.document.floor > .zero }.map(\.document.bundle))
  }

  /// Why devices of the channels that a statement names would refuse it.
  private func problems(of signed: Signed<ReleaseStatement>) throws(StoreError) -> [UnsignedBundle] {
    let statement = signed.document
    let holder = try db.holder(of: statement.content, statement.bundle, inApp: appID)
    var problems: [UnsignedBundle] = []
    for channel in statement.channels {
      var failure: TrustFailure? = .releaseContent
      if let holder {
        let trust = trust(in: channel)
        let content = ChannelTrust.Content(bundle: statement.bundle, digest: statement.content) {
          () throws(StoreError) in try db.urls(ofBundle: holder.bundle, at: holder.version)
        }
        let floor = try db.floor(of: statement.bundle.text, in: trust)
        failure = try trust.verdict(on: signed, of: content, floor: floor).failure
      }
      if let failure {
        problems.append(
          UnsignedBundle(
            channel: channel, bundle: statement.bundle, content: statement.content, problem: failure))
      }
    }
    return problems
  }

  private func trust(in channel: ChannelName) -> ChannelTrust {
    ChannelTrust(
      appID: appID, id: channels.first { $0.name == channel }?.id, channel: channel, root: root)
  }

  func keep(now: Int64) throws(StoreError) -> Int {
    let at = try db.timeAfterReleases(ofApp: appID, now: now)
    var count = 0
    for signed in request.releases where try db.keep(signed, ofApp: appID, by: request.actor.name, now: at) {
      count += 1
    }
    for signed in request.prefetch where try db.keep(signed, ofApp: appID, by: request.actor.name, now: at) {
      count += 1
    }
    if count == 0 { return 0 }
    try db.raiseFloors(of: raised, inApp: appID, given: request.releases)
    for channel in channels where channel.bundlesSince != nil && !request.prefetch.isEmpty {
      try db.raisePrefetchFloor(of: channel, given: request.prefetch)
    }
    try db.audit(act(count), by: request.actor, now: now)
    return count
  }

  private func act(_ count: Int) -> AuditEvent {
    func signers<Document>(_ signed: Signed<Document>) -> JSONValue {
      .strings(signed.signers(among: root.keys.keys, keys: root.keys, by: SystemVerifier()).map(\.text))
    }
    let releases = request.releases.map { signed -> JSONValue in
      [
        "bundle": .string(signed.document.bundle.text), "content": .string(signed.document.content.hex),
        "keys": signers(signed),
        "serial": .integer(signed.document.serial.number),
      ]
    }
    let prefetch = request.prefetch.map { signed -> JSONValue in
      [
        "content": .string(signed.document.content.hex),
        "keys": signers(signed),
        "serial": .integer(signed.document.serial.number),
      ]
    }
    return AuditEvent(
      "trust.statements", app: request.app, parameters: ["message": .string(request.message)],
      result: ["new": .integer(count), "prefetch": .array(prefetch), "signed": .array(releases)])
  }
}

extension Database {
  /// A bundle of an app that has, or had, this content, and a version of it.
  fileprivate func holder(of content: SHA256, _ bundle: BundleName, inApp app: Int64) throws(StoreError)
    -> (bundle: Int64, version: ManifestVersion)?
  {
    try first(
      """
      SELECT b.id, (SELECT min(r.version) FROM release AS r
        WHERE r.channel_id = b.channel_id AND r.version >= c.version)
      FROM bundle_content AS c JOIN bundle AS b ON b.id = c.bundle_id
      JOIN channel AS n ON n.id = b.channel_id
      WHERE c.content = ? AND b.name = ? AND n.app_id = ? ORDER BY c.version DESC LIMIT 1
      """, content, bundle.text, app
    ) { (bundle: $0.get(0), version: $0.version(1)) }
  }
}
