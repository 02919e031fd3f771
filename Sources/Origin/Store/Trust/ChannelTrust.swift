import Manifests
import System
import Trust
import Values

/// The root in force of a channel's app, and what devices of that channel make of statements.
///
/// It is `TrustCheck`'s check of bundles and prefetch configs, with what the origin stores in the place of what a device does. A test runs
/// both on the same documents.
struct ChannelTrust {
  let appID: Int64
  /// The channel's row; nil if it is yet to be created.
  let id: Int64?
  let channel: ChannelName
  /// The root in force.
  let root: TrustRoot

  /// A statement, and what becomes of it on devices.
  struct Verdict {
    /// The keys of the root that have signed it.
    let signers: [KeyID]
    /// Nil if devices take it.
    let failure: TrustFailure?
  }

  /// A bundle with the statement that its devices get, and when that was stored.
  struct Choice {
    let trust: BundleTrust
    /// Milliseconds since 1970; nil if it isn't stored.
    let at: Int64?
  }

  /// What a bundle contains.
  struct Content {
    let bundle: BundleName
    let digest: SHA256
    /// Its URLs and its fallbacks' prefixes, asked for only where the root grants some.
    let urls: () throws(StoreError) -> [ResourceURL]
  }

  func verdict(on signed: Signed<ReleaseStatement>, of content: Content, floor: Serial) throws(StoreError)
    -> Verdict
  {
    let statement = signed.document
    let keys = Set(root.grants.flatMap(\.signers.keys))
    let signers = signed.signers(among: keys, keys: root.keys, by: RememberingVerifier())
    func failed(_ failure: TrustFailure?) -> Verdict { Verdict(signers: signers, failure: failure) }
    guard isHere(statement.app, statement.environment, statement.channels) else {
      return failed(.releasePlace)
    }
    guard statement.content == content.digest else { return failed(.releaseContent) }
    let grants = root.grants.filter { $0.signers.isMet(by: signers) }
    if grants.isEmpty { return failed(.releaseKey) }
    let covering = grants.filter { $0.covers(content.bundle, in: channel) }
    if !covering.contains(where: { $0.prefixes == .all }) {
      let urls = covering.isEmpty ? [] : try content.urls()
      guard covering.contains(where: { urls.allSatisfy($0.covers) }) else { return failed(.releaseScope) }
    }
    return failed(statement.serial >= floor ? nil : .releaseFloor)
  }

  func verdict(on signed: Signed<PrefetchStatement>, of content: SHA256, floor: Serial) -> Verdict {
    let statement = signed.document
    let signers = signed.signers(among: root.prefetch, keys: root.keys, by: RememberingVerifier())
    func failed(_ failure: TrustFailure?) -> Verdict { Verdict(signers: signers, failure: failure) }
    guard isHere(statement.app, statement.environment, statement.channels) else {
      return failed(.prefetchPlace)
    }
    guard statement.content == content else { return failed(.prefetchContent) }
    if signers.isEmpty { return failed(.prefetchKey) }
    return failed(statement.serial >= floor ? nil : .prefetchFloor)
  }

  private func isHere(_ app: AppName, _ environment: TrustEnvironment?, _ channels: [ChannelName]) -> Bool {
    app == root.app && environment == root.environment && channels.contains(channel)
  }

  /// The statement that devices get for a bundle: of those that they take, the one with the highest serial, and of several with that serial
  /// the newest. One whose floor a root has lowered since comes after all others, because devices would raise the floor again. If they take
  /// none, the one that fails last.
  /// - Parameter given: statements that may not be stored yet. What they leave as floors is meant to be the channel's.
  func choice(
    of content: Content, given: [Signed<ReleaseStatement>] = [], in db: Database
  ) throws(StoreError) -> Choice {
    let floor = try db.floor(of: content.bundle.text, in: self)
    let set = try db.timeOfRootFloor(of: content.bundle.text, in: self)
    var found: [Ranked] = []
    var highest = floor
    for signed in given.reversed() where signed.document.bundle == content.bundle {
      let verdict = try verdict(on: signed, of: content, floor: floor)
      if verdict.failure == nil { highest = max(highest, signed.document.floor) }
      found.append(Ranked(signed: signed, verdict: verdict, at: nil))
    }
    for (signed, at) in try db.statements(of: content.bundle, content.digest, appID) {
      let verdict = try verdict(on: signed, of: content, floor: floor)
      found.append(Ranked(signed: signed, verdict: verdict, at: at))
    }
    var best: Ranked?
    func isLowered(_ ranked: Ranked) -> Bool {
      Self.isLowered(ranked.signed.document.floor, at: ranked.at, floor: highest, set: set)
    }
    for ranked in found {
      let precedes = best.map { ranked.precedes($0, isLowered) } ?? true
      if precedes { best = ranked }
    }
    return Choice(
      trust: BundleTrust(
        bundle: content.bundle, content: content.digest, statement: best?.signed, floor: floor,
        signers: best?.verdict.signers ?? [], problem: best == nil ? .releaseMissing : best?.verdict.failure),
      at: best?.at)
  }

  /// A statement among which one is chosen.
  private struct Ranked {
    let signed: Signed<ReleaseStatement>
    let verdict: Verdict
    /// As in `Choice`.
    let at: Int64?

    func precedes(_ other: Ranked, _ isLowered: (Ranked) -> Bool) -> Bool {
      let (mine, others) = (ChannelTrust.order(verdict.failure), ChannelTrust.order(other.verdict.failure))
      if mine != others { return mine > others }
      let (comesLast, otherComesLast) = (isLowered(self), isLowered(other))
      if comesLast != otherComesLast { return otherComesLast }
      return signed.document.serial > other.signed.document.serial
    }
  }

  /// Whether a root has lowered the floor that a statement leaves.
  /// - Parameters:
  ///   - at: when it was stored; nil if it wasn't yet.
  ///   - floor: the highest floor that is meant.
  ///   - set: when a root set that floor last; nil if none has.
  private static func isLowered(_ left: Serial, at: Int64?, floor: Serial, set: Int64?) -> Bool {
    guard let at, let set else { return false }
    return left > floor && at <= set
  }

  /// How far the check gets.
  private static func order(_ failure: TrustFailure?) -> Int {
    failure.flatMap { TrustFailure.allCases.firstIndex(of: $0) } ?? .max
  }

  /// The statement that devices get for a prefetch config, chosen as one of a bundle is; nil if they take none.
  /// - Parameter given: statements that came with the request, and are stored.
  func statement(
    forPrefetch content: [UInt8], given: [Signed<PrefetchStatement>] = [], in db: Database
  ) throws(StoreError) -> Signed<PrefetchStatement>? {
    if root.isOff { return nil }
    let digest = SHA256.of(content)
    let floor = try db.floor(of: Self.prefetch, in: self)
    let set = try db.timeOfRootFloor(of: Self.prefetch, in: self)
    func isTaken(_ signed: Signed<PrefetchStatement>) -> Bool {
      verdict(on: signed, of: digest, floor: floor).failure == nil
    }
    let highest = given.filter(isTaken).map(\.document.floor).reduce(floor, max)
    let taken = try db.prefetchStatements(of: digest, appID).filter { isTaken($0.signed) }
    let chosen = taken.first {
      !Self.isLowered($0.signed.document.floor, at: $0.at, floor: highest, set: set)
    }
    return (chosen ?? taken.first)?.signed
  }

  /// In the place of a bundle's name where floors are stored.
  static let prefetch = ""
}

extension Database {
  /// The root in force of a channel's app; nil if it has none.
  func trust(ofChannel channel: Int64) throws(StoreError) -> ChannelTrust? {
    let row = try first(
      """
      SELECT c.app_id, c.name, (SELECT envelope FROM trust_root AS r WHERE r.app_id = c.app_id
        ORDER BY number DESC LIMIT 1)
      FROM channel AS c WHERE c.id = ?
      """, channel
    ) { (row) throws(StoreError) in
      (
        app: row.get(0, as: Int64.self), name: try Stored.channel(row.get(1)),
        root: row.get(2, as: String?.self)
      )
    }
    guard let row, let root = row.root else { return nil }
    return ChannelTrust(
      appID: row.app, id: channel, channel: row.name,
      root: try Stored.signed(root, as: TrustRoot.self).document)
  }

  /// The same for a channel that is yet to be created.
  func trust(of app: AppName, _ channel: ChannelName) throws(StoreError) -> ChannelTrust? {
    guard let id = try AppRow.id(of: app, in: self), let root = try roots(ofApp: id).last else { return nil }
    return ChannelTrust(appID: id, id: nil, channel: channel, root: root.signed.document)
  }

  /// Whether an app has a root.
  func hasRoot(_ app: AppName) throws(StoreError) -> Bool {
    try value(
      Int64.self, "SELECT 1 FROM app AS a JOIN trust_root AS r ON r.app_id = a.id WHERE a.name = ? LIMIT 1",
      app.text) != nil
  }

  /// The channel as its next release makes it: in an app with a root, entries name their bundle from the first release on. A channel that
  /// holds nothing, because it was removed when the root came into force, begins with its next one.
  func namingBundles(_ channel: ChannelInfo) throws(StoreError) -> ChannelInfo {
    guard channel.bundlesSince == nil, channel.resources == 0, try hasRoot(channel.app) else {
      return channel
    }
    return channel.namingBundles(since: channel.nextVersion)
  }

  /// Whether entries name their bundle in only one of two versions.
  func crossesRebase(_ channel: Int64, from base: ManifestVersion, to version: ManifestVersion)
    throws(StoreError) -> Bool
  {
    let since = try value(Int64?.self, "SELECT bundles_since FROM channel WHERE id = ?", channel) ?? nil
    guard let since, base != .none, version != .none else { return false }
    return (base.number < since) != (version.number < since)
  }
}

extension Stored {
  /// Parses an envelope that was read before it was stored.
  static func signed<Document: TrustDocument>(_ text: String, as type: Document.Type = Document.self)
    throws(StoreError) -> Signed<Document>
  {
    do {
      return try Signed(parsing: Array(text.utf8))
    } catch {
      throw .corruptRow("an envelope: \(error)")
    }
  }
}
