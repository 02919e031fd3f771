import Manifests
import System
import Trust
import Values

extension Store {
  /// Puts a root in force: the first one by a release of kind `rebase` in each channel of the app, from which on entries name
  /// their bundles. A root that is in force already changes nothing.
  ///
  /// All of it is one transaction: roots, releases, statements, floors and heads are there together, or none is.
  ///
  /// - Parameters:
  ///   - request: the root, and what makes the app's channels whole under it.
  ///   - digest: as for `commit`.
  ///   - committed: called once after the commit, before anything else can commit.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownApp`, `rootRefused`, `unsigned`, `unsignedPrefetch`, `sharedURLs`, `noHeadKey`, `frozen`, `rolloutOpen`, with
  ///   nothing changed.
  package func push(
    _ request: RootInput, digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (RootOutcome) -> Void = { _ in }, record: AnswerRecord<RootOutcome>? = nil
  ) throws(StoreError) -> RootOutcome {
    let keys = try headKeyPairs()
    let now = clock()
    guard request.dryRun else {
      return try connections.transaction(
        keeping: record, now: now, then: { if $0.changed { committed($0) } }
      ) { (db) throws(StoreError) in
        try RootPush(request, keys, in: db, digest: digest, now: now).carryOut { () throws(StoreError) in
          try step("root")
        }
      }
    }
    // Whatever it would do is done, and taken back.
    var outcome: RootOutcome?
    do throws(StoreError) {
      try connections.transaction { (db) throws(StoreError) in
        outcome = try RootPush(request, keys, in: db, digest: nil, now: now).carryOut {}
        throw .cancelled
      }
    } catch {
      guard let outcome else { throw error }
      return outcome
    }
    throw .cancelled
  }
}

/// Puts a root in force inside the transaction that its caller began.
private struct RootPush {
  private let request: RootInput
  /// The origin's keys for heads.
  private let keys: [P256PrivateKey]
  private let db: Database
  private let digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  private let now: Int64
  private let appID: Int64
  /// The roots before.
  private let roots: [AppTrust.Root]
  /// The app's channels that have a release.
  private let channels: [ChannelInfo]

  private var root: TrustRoot { request.root.document }

  init(
    _ request: RootInput, _ keys: [P256PrivateKey], in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?, now: Int64
  ) throws(StoreError) {
    self.request = request
    self.keys = keys
    self.db = db
    self.digest = digest
    self.now = now
    appID = try db.requiredApp(request.app)
    roots = try db.roots(ofApp: appID)
    let id = appID
    channels = try db.channels().filter { $0.appID == id && $0.version != .none }
  }

  /// - Parameter step: called between its steps.
  func carryOut(_ step: () throws(StoreError) -> Void) throws(StoreError) -> RootOutcome {
    if roots.contains(where: { $0.signed.digest == request.root.digest }) {
      return RootOutcome(
        changed: false, root: root, channels: channels.map { .init(info: $0, release: nil) },
        hasHeadKey: hasHeadKey)
    }
    if let failure = failure() {
      throw .rootRefused(request.app, failure, inForce: roots.last?.signed.document.number)
    }
    try requireHeadKey()
    // Channels whose entries name no bundle yet.
    let plain = channels.filter { $0.bundlesSince == nil }
    try requireFree(plain)
    let at = try db.timeOfRoot(ofApp: appID, now: now)
    try db.insert(request.root, ofApp: appID, by: request.actor.name, now: at)
    try db.setFloors(of: root, inApp: appID)
    try step()
    var result: [RootOutcome.Channel] = []
    for channel in channels {
      let release = channel.bundlesSince == nil ? try rebase(channel) : nil
      result.append(RootOutcome.Channel(info: release?.channel ?? channel, release: release))
    }
    try step()
    try keepStatements()
    try requireSigned(result.map(\.info))
    try step()
    for channel in result where hasHeadKey {
      if let head = try db.nextHead(of: channel.info.id, keys, isDaily: false, now: now) {
        try db.set(head.signed, by: head.key, of: channel.info.id)
      }
    }
    try audit(result)
    try step()
    return RootOutcome(changed: true, root: root, channels: result, hasHeadKey: hasHeadKey)
  }

  // MARK: - Checks

  /// Why devices wouldn't put it in force; nil if they do.
  private func failure() -> TrustFailure? {
    let verifier = SystemVerifier()
    guard let inForce = roots.last?.signed else {
      // Devices are built with it; it is checked like one that follows.
      if root.app != request.app { return .rootApp }
      if root.number != .first { return .rootNumber }
      let signers = request.root.signers(among: root.roots.keys, keys: root.keys, by: verifier)
      return root.roots.isMet(by: signers) ? nil : .rootNewKeys
    }
    // A root is of no channel.
    let place = TrustPlace(
      app: request.app, environment: inForce.document.environment,
      channel: channels.first?.name ?? .online)
    let offer = TrustOffer(roots: [.success(request.root)])
    guard let time = TrustTime(max(0, now)) else { return .rootForm }
    return TrustCheck(place: place, verifier: verifier).check(
      offer, state: TrustState(builtIn: inForce), now: time
    ).failure
  }

  /// Without a head devices take nothing. An origin that can't sign heads as it is, perhaps because it was restored without its keys and
  /// its newest root, takes a root that doesn't change that: the one that names a key of this origin has to follow it.
  private func requireHeadKey() throws(StoreError) {
    if hasHeadKey { return }
    guard let inForce = roots.last?.signed.document, !hasKey(of: inForce) else {
      throw .noHeadKey(request.app)
    }
  }

  /// Whether this origin can sign heads under the root, or there are none under it.
  private var hasHeadKey: Bool { root.isOff || hasKey(of: root) }

  /// Whether no floors were noted under the root before, because there was none, or it was off.
  private var isFirst: Bool { roots.last?.signed.document.isOff ?? true }

  private func hasKey(of root: TrustRoot) -> Bool { keys.contains { root.heads.contains($0.trustKey.id) } }

  /// Refuses what keeps channels from getting a release: a freeze, a rollout, whose versions would both change, and URLs of two bundles.
  private func requireFree(_ channels: [ChannelInfo]) throws(StoreError) {
    var shared: [SharedURL] = []
    for channel in channels {
      if let freeze = try db.freeze(of: channel.id, at: now), request.breakGlass == nil {
        throw .frozen(channel.app, channel.name, freeze)
      }
      if let rollout = channel.rollout { throw .rolloutOpen(channel.app, channel.name, rollout.candidate) }
      shared += try db.sharedURLs(of: channel, at: channel.version)
    }
    guard shared.isEmpty else { throw .sharedURLs(request.app, shared) }
  }

  /// Refuses a root under which devices would refuse what they have, or would get next.
  private func requireSigned(_ channels: [ChannelInfo]) throws(StoreError) {
    if root.isOff { return }
    let given = Set(request.releases.map(\.document.bundle))
    var unsigned: [UnsignedBundle] = []
    for channel in channels {
      guard let trust = try db.trust(ofChannel: channel.id) else { continue }
      var bundles: Set<BundleName> = []
      for version in channel.answeredVersions.sorted() {
        var signed: [BundleTrust] = []
        try db.requireFewBundles(in: channel, at: version)
        for row in try db.contents(of: channel.id, at: version) {
          signed.append(try db.choice(of: row, at: version, trust, given: request.releases).trust)
        }
        unsigned += signed.unsigned(in: channel.name).filter { !unsigned.contains($0) }
        bundles.formUnion(signed.map(\.bundle))
      }
      // A floor that the root names is meant, whatever statements say; and so is one that an earlier root named, whatever those say that
      // were there before.
      try db.raiseFloors(
        of: bundles.filter { root.floors[$0] == nil && (isFirst || given.contains($0)) }, in: channel,
        full: channel.full.version, candidate: channel.rollout?.candidate, given: request.releases)
    }
    guard unsigned.isEmpty else { throw .unsigned(request.app, unsigned) }
    for channel in channels { try requireSignedPrefetch(channel) }
  }

  private func requireSignedPrefetch(_ channel: ChannelInfo) throws(StoreError) {
    guard let trust = try db.trust(ofChannel: channel.id) else { return }
    let newest = try db.newest(.prefetch, of: channel.id)
    for config in [newest, try db.candidatePrefetch(of: channel.id)].compactMap(\.self) {
      // An app that has no keys for configs may have cleared its last one.
      if root.prefetch.isEmpty, config.content == ChannelExtras.noPrefetch { continue }
      guard let signed = try trust.statement(forPrefetch: config.content, given: request.prefetch, in: db)
      else {
        let digest = SHA256.of(config.content)
        let given = request.prefetch.first { $0.document.content == digest }
        let failure = given.flatMap { trust.verdict(on: $0, of: digest, floor: .zero).failure }
        throw .unsignedPrefetch(channel.app, channel.name, failure ?? .prefetchMissing)
      }
      if config.version == newest?.version, root.prefetchFloor == nil, isFirst || !request.prefetch.isEmpty {
        try db.raiseFloor(of: ChannelTrust.prefetch, in: channel.id, to: signed.document.floor)
      }
    }
  }

  // MARK: - Rows

  /// Keeps those statements that are about something that is stored.
  private func keepStatements() throws(StoreError) {
    // Those of the first root belong to its releases; later ones come along to whoever has a version of before.
    let at = roots.isEmpty ? now : try db.timeAfterReleases(ofApp: appID, now: now)
    for signed in request.releases {
      let statement = signed.document
      guard try db.knows(statement.content, of: statement.bundle, inApp: appID) else { continue }
      try db.keep(signed, ofApp: appID, by: request.actor.name, now: at)
    }
    let configs = try db.prefetchDigests(ofApp: appID)
    for signed in request.prefetch where configs.contains(signed.document.content) {
      try db.keep(signed, ofApp: appID, by: request.actor.name, now: at)
    }
  }

  /// Makes the release from which on a channel's entries name their bundles. No row of an entry ends: what a version's entries name
  /// depends on its number.
  private func rebase(_ channel: ChannelInfo) throws(StoreError) -> ReleaseOutcome {
    let version = channel.nextVersion
    let at = max(now, channel.at ?? 0)
    let named = channel.namingBundles(since: version)
    var changes: [EntryChange] = []
    try db.eachEntry(of: channel, at: channel.version, names: true) { (url, row) throws(StoreError) in
      changes.append(
        EntryChange(url: url, entry: try row.entry(url, in: named), old: row.content))
    }
    let prepared = PreparedRelease(channel: named, version: version, at: at, changes: changes)
    let digest = if let digest { try digest(prepared) } else { try db.digest(of: prepared) }
    let counts = ChangeCounts(changed: changes.count)
    let freeze = try db.freeze(of: channel.id, at: now)
    try ReleaseRow(
      channel: channel.id, version: version, kind: .rebase, at: at, author: request.actor.name,
      message: request.message, digest: digest, counts: counts, newBytes: 0, resources: channel.resources,
      bytes: channel.bytes
    ).insert(in: db)
    // The content is that of the version before: steps back count it once.
    let source = ReleaseSource(channel: channel, version: channel.version, bundle: nil)
    try db.note(source, of: version, in: channel.id)
    try db.recordOverride(request.breakGlass, freeze, version, in: channel.id)
    try db.nameBundles(of: channel.id, since: version)
    try db.recordContents(of: channel.id, at: version, ofAll: true)
    var outcome = ReleaseOutcome(
      changed: true,
      channel: named.after(
        version, at: at, digest: digest, resources: channel.resources, bytes: channel.bytes),
      version: version, previous: channel.version, at: at, changes: changes, counts: counts, bundles: [],
      newBytes: 0, resources: channel.resources, bytes: channel.bytes, createdApp: false,
      createdChannel: false, missing: [])
    outcome.receipt = try db.audit(
      AuditEvent(
        "rebase", app: channel.app, channel: channel.name,
        parameters: [
          "breakGlass": request.breakGlass.map { .string($0) } ?? .null, "message": .string(request.message),
          "root": .string(root.number.text),
        ],
        result: [
          "changed": .integer(counts.changed), "digest": .string(digest.hex),
          "previous": .string(channel.version.text), "version": .string(version.text),
        ]),
      by: request.actor, now: now)
    return outcome
  }

  private func audit(_ channels: [RootOutcome.Channel]) throws(StoreError) {
    let known = (roots.last?.signed.document.keys ?? [:]).merging(root.keys) { $1 }
    let signers = request.root.signers(among: known.keys, keys: known, by: SystemVerifier())
    try db.audit(
      AuditEvent(
        "trust.root", app: request.app,
        parameters: [
          "breakGlass": request.breakGlass.map { .string($0) } ?? .null, "message": .string(request.message),
        ],
        result: [
          "channels": .array(
            channels.map {
              ["channel": .string($0.info.name.text), "version": .string($0.info.version.text)]
            }),
          "digest": .string(request.root.digest.hex), "keys": .strings(signers.map(\.text)),
          "number": .string(root.number.text), "off": .bool(root.isOff),
        ]),
      by: request.actor, now: now)
  }
}

extension Database {
  /// The digests of what is signed of the prefetch configs of an app that are stored.
  func prefetchDigests(ofApp app: Int64) throws(StoreError) -> Set<SHA256> {
    Set(
      try all(
        """
        SELECT d.content FROM channel AS c JOIN document AS d ON d.channel_id = c.id AND d.name = 'prefetch'
        WHERE c.app_id = ?1
        UNION SELECT p.content FROM channel AS c JOIN candidate_prefetch AS p ON p.channel_id = c.id
        WHERE c.app_id = ?1
        """, app
      ) { SHA256.of(Array($0.get(0, as: String.self).utf8)) })
  }
}
