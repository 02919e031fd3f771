import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

/// Keys and documents of an app `shop` with channel `online`, and a store to publish into.
struct SignedShop {
  private let scratch: Scratch?
  let store: Store
  let anna = Actor(name: "anna", address: "10.0.0.7")
  let app: AppName
  let rootKey = P256PrivateKey()
  let releaseKey = P256PrivateKey()
  let otherKey = P256PrivateKey()
  let headKey: TrustKey

  init(_ options: Store.Options = Store.Options()) throws {
    let scratch = Scratch()
    try self.init(try scratch.open(options), in: scratch)
  }

  /// In a folder that outlives the process.
  init(_ options: Store.Options, at path: String) throws {
    try self.init(try Store(path: path, options: options), in: nil)
  }

  private init(_ store: Store, in scratch: Scratch?) throws {
    self.scratch = scratch
    self.store = store
    app = try AppName("shop")
    headKey = try store.makeHeadKey(another: false, by: .local).key
  }

  /// Bundle a with `a.js` at version 1, and b with `b.js` at version 2; nothing signed.
  func publishTwo() throws {
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
  }

  /// The same, and a root: version 3.
  func begin() throws -> RootOutcome {
    try publishTwo()
    return try push(try root())
  }

  static func group(_ keys: P256PrivateKey...) throws -> KeyGroup {
    try #require(KeyGroup(Set(keys.map(\.trustKey.id))))
  }

  /// A root by which `releaseKey` signs everything.
  func root(
    _ number: Int64 = 1, grants: [ReleaseGrant]? = nil, heads: [TrustKey]? = nil,
    floors: [BundleName: Serial] = [:], isOff: Bool = false
  ) throws -> TrustRoot {
    let heads = heads ?? [headKey]
    return try TrustRoot(
      app: app, number: try #require(RootNumber(number)),
      keys: [rootKey, releaseKey, otherKey].map(\.trustKey) + heads, roots: try Self.group(rootKey),
      grants: try grants ?? [ReleaseGrant(signers: try Self.group(releaseKey))],
      prefetch: [releaseKey.trustKey.id], heads: Set(heads.map(\.id)), floors: floors, isOff: isOff)
  }

  func input(
    _ root: TrustRoot, by key: P256PrivateKey? = nil, releases: [Signed<ReleaseStatement>]? = nil
  ) throws -> RootInput {
    var input = RootInput(app: app, root: try Signed(root).signed(by: key ?? rootKey), by: anna)
    input.releases =
      try releases ?? [
        try statement("a", ["a.js": Sample("a1")], serial: 10),
        try statement("b", ["b.js": Sample("b1")], serial: 10),
      ]
    return input
  }

  /// Pushes a root, with statements for what `publishTwo` has published.
  @discardableResult
  func push(_ root: TrustRoot, releases: [Signed<ReleaseStatement>]? = nil) throws -> RootOutcome {
    try store.push(try input(root, releases: releases))
  }

  /// A statement for a bundle's whole content.
  func statement(
    _ bundle: String, _ content: [String: Sample], serial: Int64, floor: Int64 = 0,
    channels: [String] = ["online"], by key: P256PrivateKey? = nil
  ) throws -> Signed<ReleaseStatement> {
    let statement = try ReleaseStatement(
      app: app, bundle: try BundleName(bundle), channels: Set(try channels.map { try ChannelName($0) }),
      content: try Self.digest(content), serial: try #require(Serial(serial)),
      floor: try #require(Serial(floor)))
    return try Signed(statement).signed(by: key ?? releaseKey)
  }

  static func digest(_ content: [String: Sample]) throws -> SHA256 {
    var bundle = BundleContent()
    let items = try content.map { (try url($0.key), try $0.value.content) }.sorted { $0.0 < $1.0 }
    for (url, content) in items {
      bundle.append(ManifestItem(url: url, entry: Entry(content, download: "elsewhere", version: 7)))
    }
    return bundle.digest()
  }

  /// Publishes changes of a bundle, with statements.
  @discardableResult
  func publish(
    _ bundle: String, base: Int64, set: [String: Sample] = [:], remove: [String] = [], share: Int? = nil,
    dryRun: Bool = false, with statements: [Signed<ReleaseStatement>] = []
  ) throws -> ReleaseOutcome {
    try publish(
      [try store.change(bundle, base: base, set: set, remove: remove)], sending: Array(set.values),
      share: share, dryRun: dryRun, with: statements)
  }

  @discardableResult
  func publish(
    _ changes: [BundleChange], sending samples: [Sample], share: Int? = nil, dryRun: Bool = false,
    with statements: [Signed<ReleaseStatement>] = []
  ) throws -> ReleaseOutcome {
    try store.send(samples)
    var request = try store.request(changes, dryRun: dryRun)
    request.rollout = share.map { RolloutAudience(share: $0) }
    request.statements = statements
    return try store.commit(request)
  }

  func rollback(
    to version: Int64, bundle: String? = nil, dryRun: Bool = false,
    with statements: [Signed<ReleaseStatement>] = []
  ) throws -> RollbackOutcome {
    var input = RollbackInput(
      app: app, channel: .online, bundle: try bundle.map { try BundleName($0) },
      to: .version(.number(ManifestVersion(version))), by: anna, dryRun: dryRun)
    input.statements = statements
    return try store.rollback(input)
  }

  /// Which bundle each entry of a version names, by path.
  func bundles(at version: Int64) throws -> [String: String] {
    var bundles: [String: String] = [:]
    for (url, entry) in try store.manifest(try store.shop(), at: ManifestVersion(version)) {
      bundles[String(url.text.dropFirst("https://m.example.com/".count))] = entry.bundle?.text ?? ""
    }
    return bundles
  }

  /// What is wrong with each bundle of an `unsigned`.
  static func problems(_ body: () throws -> Void) -> [String] {
    do {
      try body()
      return ["taken"]
    } catch StoreError.unsigned(_, let bundles) {
      return bundles.map { "\($0.channel) \($0.bundle) \($0.problem.rawValue)" }
    } catch {
      return ["\(error)"]
    }
  }

  // MARK: - A device

  /// A device that was just installed, with a root.
  func device(_ root: TrustRoot) throws -> TrustState {
    TrustState(builtIn: try Signed(root).signed(by: rootKey))
  }

  /// What a device makes of the answer that leads to a version.
  func verdict(_ state: TrustState, from base: Int64? = nil, to version: Int64) throws -> TrustVerdict {
    let channel = try store.shop()
    let target = ManifestVersion(version)
    let bytes = try #require(
      try store.answerTrust(of: channel, from: base.map { ManifestVersion($0) }, to: target))
    var reader = JSONReader(bytes)
    let trust = try AnswerTrust(reading: &reader)
    let digest = try store.digestByQuery(channel, at: target)
    #expect(digest == (try store.digest(channel, at: target)))
    let items = try store.manifest(channel, at: target).map { ManifestItem(url: $0.url, entry: $0.entry) }
    return TrustCheck(place: TrustPlace(app: app, channel: .online), verifier: SystemVerifier()).check(
      TrustOffer(
        head: trust.head, releases: trust.releases,
        manifest: TrustOffer.Manifest(version: target, digest: digest, items: items)),
      state: state, now: try #require(TrustTime(0)))
  }
}
