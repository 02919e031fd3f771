import HTTP
import Manifests
import OriginAPI
import Store
import System
import Trust
import Values

/// The roots of an app, and what is signed of its channels: `/apps/{app}/trust…`.
struct TrustHandler: APIHandler {
  let context: RequestContext

  private var releases: ReleaseService { context.api.releases }

  /// `GET /apps/{app}/trust`: the roots of an app, and what is signed of each channel that the token may read.
  func overview() throws -> Response {
    let app = try app()
    let trust = try store.trust(of: app)
    let channels = try store.channels().filter {
      $0.app == app && caller.allows(.read, app: app, channel: $0.name)
    }
    let isAdmin = caller.grants.contains { $0.scope >= .admin && ($0.app ?? app) == app }
    return .json(
      TrustOverview(
        app: app, roots: trust?.roots.map { TrustOverview.Root($0) } ?? [],
        headKeys: isAdmin ? try store.headKeys().map { HeadKey($0) } : [],
        channels: try channels.sorted { $0.name.text < $1.name.text }.map {
          try TrustedChannel($0, trust?.inForce, store)
        }))
  }

  /// `POST /apps/{app}/trust/head-key`: the key with which this origin signs heads, made if there is none, or if another one is wanted.
  func headKey(_ body: HeadKeyRequest) throws -> Response {
    let app = try app()
    // Only an app that exists: its name is in no path that a typing mistake would make right.
    _ = try store.trust(of: app)
    return try context.answering { (made: (key: TrustKey, isNew: Bool)) in
      APIAnswer(
        HeadKeyAnswer(keyid: made.key.id.text, key: made.key.base64, isNew: made.isNew),
        made.isNew ? .created : .ok)
    } to: { record in
      try store.makeHeadKey(another: body.another ?? false, by: actor, record: record)
    }
  }

  /// `POST /apps/{app}/trust/root`: puts a root in force.
  func push(_ body: RootRequest) throws -> Response {
    guard let root = body.root else { throw Problem.badRequest("\"root\" must be the envelope of a root") }
    var input = RootInput(app: try app(), root: try Self.signed(root, "root"), by: actor)
    input.releases = try Self.signed(body.releases, "releases")
    input.prefetch = try Self.signed(body.prefetch, "prefetch")
    input.message = try HumanText.checked(body.message, member: "message", .message) ?? ""
    input.breakGlass = try ReleaseHandler.breakGlass(body.breakGlass)
    input.dryRun = body.dryRun ?? false
    let isDryRun = input.dryRun
    return try context.answering { outcome in
      APIAnswer(RootAnswer(outcome), outcome.changed && !isDryRun ? .created : .ok)
    } to: { [input] record in
      try releases.push(input, record: record)
    }
  }

  /// `POST /apps/{app}/trust/statements`: keeps statements for contents that are stored.
  func keep(_ body: StatementsRequest) throws -> Response {
    var input = StatementsInput(app: try app(), by: actor)
    input.releases = try Self.signed(body.releases, "releases")
    input.prefetch = try Self.signed(body.prefetch, "prefetch")
    input.message = try HumanText.checked(body.message, member: "message", .message) ?? ""
    input.dryRun = body.dryRun ?? false
    guard !input.releases.isEmpty || !input.prefetch.isEmpty else {
      throw Problem.badRequest("there is nothing to keep: give \"releases\" or \"prefetch\"")
    }
    for signed in input.releases {
      let bundle = signed.document.bundle
      if caller.more.isEmpty { try caller.check(bundle: bundle) }
      try caller.check(statementFor: signed.document.channels, .publish, in: input.app) {
        $0?.matches(bundle) ?? true
      }
    }
    for signed in input.prefetch {
      if caller.more.isEmpty { try caller.checkReachesAllBundles() }
      try caller.check(statementFor: signed.document.channels, .publish, in: input.app) { $0 == nil }
    }
    let isDryRun = input.dryRun
    return try context.answering { kept in
      APIAnswer(StatementsAnswer(kept: kept), kept > 0 && !isDryRun ? .created : .ok)
    } to: { [input] record in
      try releases.keep(input, record: record)
    }
  }

  private func app() throws -> AppName { try AppName(request.path[1]) }

  private static func signed<Document>(_ envelopes: [JSONValue]?, _ member: String) throws
    -> [Signed<Document>]
  {
    try (envelopes ?? []).map { try signed($0, member) }
  }

  private static func signed<Document>(_ envelope: JSONValue, _ member: String) throws -> Signed<Document> {
    do throws(TrustFormError) {
      return try Signed(json: envelope)
    } catch {
      throw Problem.badRequest("\"\(member)\": \(error)")
    }
  }
}

extension HeadKey {
  fileprivate init(_ key: TrustKey) { self.init(keyid: key.id.text, key: key.base64) }
}

extension RootAnswer {
  fileprivate init(_ outcome: RootOutcome) {
    self.init(
      changed: outcome.changed, number: outcome.root.number.number, off: outcome.root.isOff,
      channels: outcome.channels.map { channel in
        Channel(
          channel: channel.info.name, version: channel.info.full.version,
          rebased: channel.release?.changed ?? false)
      })
    if !outcome.hasHeadKey { headKey = false }
  }
}

extension TrustOverview.Root {
  fileprivate init(_ root: AppTrust.Root) {
    self.init(
      number: root.signed.document.number.number, envelope: root.signed.envelope.json, at: root.at,
      author: root.author)
  }
}

extension TrustedChannel {
  /// What a channel has of signatures under the root in force.
  fileprivate init(_ channel: ChannelInfo, _ root: TrustRoot?, _ store: Store) throws {
    let full = channel.full
    let bundles = try Self.bundles(of: channel, at: full.version, root, store)
    let contents = Dictionary(uniqueKeysWithValues: bundles.map { ($0.bundle, $0.content) })
    let candidate = try channel.rollout.map {
      try Self.bundles(of: channel, at: $0.candidate, root, store).filter {
        contents[$0.bundle] != $0.content
      }
    }
    self.init(
      channel: channel.name, version: full.version,
      head: root.map { $0.isOff ? nil : Self.head(of: channel, store).map { Head($0) } } ?? nil,
      bundles: bundles, candidate: candidate ?? [], prefetch: try Self.prefetch(of: channel, root, store))
  }

  /// The newest head of a channel; nil if there is none, or it can't be read.
  static func head(of channel: ChannelInfo, _ store: Store) -> Signed<TrustHead>? {
    (try? store.headDocument(of: channel)).flatMap { $0.flatMap { try? Signed(parsing: $0) } }
  }

  private static func bundles(
    of channel: ChannelInfo, at version: ManifestVersion, _ root: TrustRoot?, _ store: Store
  ) throws -> [Bundle] {
    if version == .none { return [] }
    if let root {
      let known = try store.bundleTrust(of: channel, at: version)
      if !known.isEmpty { return known.map { Bundle($0, isChecked: !root.isOff) } }
    }
    // Whoever makes the first root signs what there is.
    return try store.contents(of: channel, at: version).sorted { $0.key < $1.key }.map { bundle, held in
      Bundle(
        bundle: bundle, content: BundleContent(held).digest(), serial: nil, floor: nil, channels: [],
        keys: [], problem: nil)
    }
  }

  private static func prefetch(of channel: ChannelInfo, _ root: TrustRoot?, _ store: Store) throws
    -> Prefetch?
  {
    guard let record = try store.document(.prefetch, of: channel) else { return nil }
    let signed = root == nil ? nil : try store.prefetchStatement(of: channel, at: record.version)
    let keys = signed.flatMap { signed in
      root.map { signed.signers(among: $0.prefetch, keys: $0.keys, by: SystemVerifier()) }
    }
    var prefetch = Prefetch(
      version: record.version, content: SHA256.of(record.content), serial: signed?.document.serial.number,
      keys: (keys ?? []).map(\.text), envelope: signed?.envelope.json)
    prefetch.floorInForce = try store.prefetchFloor(of: channel)?.number
    return prefetch
  }
}

extension TrustedChannel.Head {
  fileprivate init(_ signed: Signed<TrustHead>) {
    let head = signed.document
    self.init(
      at: Moment(milliseconds: head.at.milliseconds), until: Moment(milliseconds: head.until.milliseconds),
      keys: signed.envelope.signatures.map(\.key.text), version: head.version)
  }
}

extension TrustedChannel.Bundle {
  /// - Parameter isChecked: whether devices check it at all.
  fileprivate init(_ trust: BundleTrust, isChecked: Bool) {
    let statement = trust.statement?.document
    self.init(
      bundle: trust.bundle, content: trust.content, serial: statement?.serial.number,
      floor: statement?.floor.number, channels: statement?.channels ?? [], keys: trust.signers.map(\.text),
      problem: isChecked ? trust.problem?.rawValue : nil, envelope: trust.statement?.envelope.json)
    floorInForce = trust.floor.number
  }
}

extension BundleContent {
  /// What is signed of a bundle with these files.
  fileprivate init(_ files: [ResourceURL: ResourceContent]) {
    self.init()
    for (url, content) in files.sorted(by: { $0.key < $1.key }) {
      append(ManifestItem(url: url, entry: Entry(content, download: "", version: 1)))
    }
  }
}
