import Manifests
import System
import Trust
import Values

/// The keys of the model.
enum ModelKey {
  static let oldRoot: UInt8 = 1, newRoot: UInt8 = 2
  /// Signs every bundle under the first root.
  static let publisher: UInt8 = 3
  /// Signs bundle b below one prefix, under the first root.
  static let team: UInt8 = 4
  static let head: UInt8 = 5
  /// Take the places of all others under the second root.
  static let newPublisher: UInt8 = 6, newHead: UInt8 = 7
  static let thief: UInt8 = 9
}

/// What a bundle of the model can contain: a number for what publishers made of it in turn, and these.
enum ModelContent {
  /// Another app's, and another channel's.
  static let foreign = 5, test = 6
  /// An attacker's, and an attacker's that has a URL of the other bundle's.
  static let evil = 9, stray = 8
}

/// A root that somebody could give a device.
enum ModelRoot: Hashable {
  /// The second one, signed by the first one's key and its own, or a draft of it that its own hasn't signed yet.
  case second, draft
  /// An attacker's own.
  case forged
  /// The first one.
  case first
  /// Another app's, whose root keys are the same.
  case foreign
}

/// A release statement, and who really signed it.
struct ModelStatement: Hashable {
  var isForeign = false
  var isTest = false
  /// 0 and 1 for a and b.
  let bundle: Int
  let content: Int
  let serial: Int64
  var floor: Int64 = 0
  let signer: UInt8
  /// The key that the signature is said to be of, if that isn't true.
  var claim: UInt8?
}

/// A prefetch statement, and who really signed it.
struct ModelPrefetch: Hashable {
  var isForeign = false
  let config: Int
  let serial: Int64
  var floor: Int64 = 0
  let signer: UInt8
}

/// A head, and who really signed it.
struct ModelHead: Hashable {
  var isTest = false
  let version: Int64
  let contents: [Int]
  let policy: Int64
  let prefetch: Int64
  let at: Int64
  let signer: UInt8
  /// The key that the signature is said to be of, if that isn't true.
  var claim: UInt8?
}

/// Makes the documents of the model, each once.
final class ModelLibrary {
  /// The bundles.
  let bundles: [BundleName]
  private var statements: [ModelStatement: Received<ReleaseStatement>] = [:]
  private var prefetches: [ModelPrefetch: Received<PrefetchStatement>] = [:]
  private var heads: [ModelHead: Received<TrustHead>] = [:]
  private var roots: [ModelRoot: Received<TrustRoot>] = [:]
  private var manifests: [[Int]: (items: [ManifestItem], digest: SHA256)] = [:]
  private let app: AppName
  private let test: ChannelName

  init() throws {
    bundles = [try BundleName("a"), try BundleName("b")]
    app = try AppName("shop")
    test = try ChannelName("test")
  }

  var place: TrustPlace { TrustPlace(app: app, channel: .online) }

  func statement(_ model: ModelStatement) throws -> Received<ReleaseStatement> {
    if let known = statements[model] { return known }
    let statement = try ReleaseStatement(
      app: model.isForeign ? try AppName("pay") : app, bundle: bundles[model.bundle],
      channels: [model.isTest ? test : .online],
      content: Pages.content(
        try Self.items(of: model.bundle, model.content), of: bundles[model.bundle].text),
      serial: serial(model.serial), floor: serial(model.floor))
    let made = Received.success(try Symbolic.signed(statement, by: [model.signer], as: model.claim))
    statements[model] = made
    return made
  }

  func prefetch(_ model: ModelPrefetch) throws -> Received<PrefetchStatement> {
    if let known = prefetches[model] { return known }
    let statement = try PrefetchStatement(
      app: model.isForeign ? try AppName("pay") : app, channels: [.online], content: config(model.config),
      serial: serial(model.serial), floor: serial(model.floor))
    let made = Received.success(try Symbolic.signed(statement, by: [model.signer]))
    prefetches[model] = made
    return made
  }

  func config(_ number: Int) -> SHA256 { CheckSample.digest("config \(number)") }

  func head(_ model: ModelHead) throws -> Received<TrustHead> {
    if let known = heads[model] { return known }
    let head = try TrustHead(
      app: app, channel: model.isTest ? test : .online, version: ManifestVersion(model.version),
      digest: manifest(model.contents).digest, policy: model.policy, prefetch: model.prefetch,
      at: time(model.at), until: time(Decimal.limit))
    let made = Received.success(try Symbolic.signed(head, by: [model.signer], as: model.claim))
    heads[model] = made
    return made
  }

  func root(_ model: ModelRoot) throws -> Received<TrustRoot> {
    if let known = roots[model] { return known }
    let made = Received.success(try makeRoot(model))
    roots[model] = made
    return made
  }

  private func makeRoot(_ model: ModelRoot) throws -> Signed<TrustRoot> {
    switch model {
    case .first: try Symbolic.signed(try firstRoot(), by: [ModelKey.oldRoot])
    case .second:
      try Symbolic.signed(
        try nextRoot(ModelKey.newRoot, ModelKey.newPublisher, ModelKey.newHead),
        by: [ModelKey.oldRoot, ModelKey.newRoot])
    case .draft:
      try Symbolic.signed(
        try nextRoot(ModelKey.newRoot, ModelKey.newPublisher, ModelKey.newHead),
        by: [ModelKey.oldRoot])
    case .forged:
      try Symbolic.signed(
        try Symbolic.signed(try nextRoot(10, ModelKey.thief, 11), by: [10]),
        by: ModelKey.thief, as: ModelKey.oldRoot)
    case .foreign:
      try Symbolic.signed(
        try nextRoot(ModelKey.newRoot, 12, 13, app: try AppName("pay")),
        by: [ModelKey.oldRoot, ModelKey.newRoot])
    }
  }

  private func firstRoot() throws -> TrustRoot {
    guard let pattern = ReleaseGrant.BundlePattern("b"),
      let prefix = ReleaseGrant.URLPrefix("https://m.example.com/b/")
    else { fatalError("they are patterns") }
    return try TrustRoot(
      app: app, number: .first,
      keys: [ModelKey.oldRoot, ModelKey.publisher, ModelKey.team, ModelKey.head].map(Symbolic.key),
      roots: Symbolic.group(ModelKey.oldRoot),
      grants: [
        ReleaseGrant(signers: Symbolic.group(ModelKey.publisher)),
        ReleaseGrant(
          signers: Symbolic.group(ModelKey.team), bundles: .some([pattern]), prefixes: .some([prefix])),
      ],
      prefetch: [Symbolic.key(ModelKey.publisher).id], heads: [Symbolic.key(ModelKey.head).id])
  }

  private func nextRoot(
    _ root: UInt8, _ publisher: UInt8, _ head: UInt8, app: AppName? = nil
  ) throws -> TrustRoot {
    try TrustRoot(
      app: app ?? self.app, number: RootNumber.first.next ?? .first,
      keys: [root, publisher, head].map(Symbolic.key), roots: Symbolic.group(root),
      grants: [ReleaseGrant(signers: Symbolic.group(publisher))], prefetch: [Symbolic.key(publisher).id],
      heads: [Symbolic.key(head).id],
      floors: [bundles[0]: .zero, bundles[1]: .zero], prefetchFloor: .zero)
  }

  func manifest(_ contents: [Int]) throws -> (items: [ManifestItem], digest: SHA256) {
    if let known = manifests[contents] { return known }
    let items = try Self.items(of: 0, contents[0]) + Self.items(of: 1, contents[1])
    let made = Manifest(version: .none, items: items)
    manifests[contents] = (made.items, made.map.digest)
    return (made.items, made.map.digest)
  }

  private static func items(of bundle: Int, _ content: Int) throws -> [ManifestItem] {
    let name = ["a", "b"][bundle]
    var items = [try Pages.item("https://m.example.com/\(name)/x", "\(name) \(content)", bundle: name)]
    if content == ModelContent.stray {
      items.append(try Pages.item("https://m.example.com/a/y", "stray", bundle: name))
    }
    return items.sorted { $0.url < $1.url }
  }

  private func serial(_ number: Int64) -> Serial { Serial(number) ?? .zero }

  func time(_ number: Int64) -> TrustTime {
    guard let time = TrustTime(number) else { fatalError("no time") }
    return time
  }
}
