import Manifests
import OriginAPI
import Store
import System
import Testing
import Trust
import Values

@testable import Origin

/// The keys of a test's publisher, and what it signs with them.
struct TestPublisher {
  var app = "shop"
  var rootKeys = [P256PrivateKey(), P256PrivateKey()]
  var releaseKey = P256PrivateKey()

  /// A root with one of two root keys, one key for all else, and the origin's key for heads.
  func root(_ number: Int64, head: TrustKey, isOff: Bool = false, floors: [BundleName: Serial] = [:]) throws
    -> Signed<TrustRoot>
  {
    let release = releaseKey.trustKey
    let roots = try #require(KeyGroup(Set(rootKeys.map(\.trustKey.id)), threshold: 1))
    let signers = try #require(KeyGroup([release.id], threshold: 1))
    let root = try TrustRoot(
      app: AppName(app), number: try #require(RootNumber(number)),
      keys: rootKeys.map(\.trustKey) + [release, head], roots: roots,
      grants: [ReleaseGrant(signers: signers)], prefetch: [release.id], heads: [head.id], floors: floors,
      isOff: isOff)
    return try Signed(root).signed(by: rootKeys[0])
  }

  func statement(
    _ bundle: String, _ content: SHA256, channels: Set<ChannelName> = [.online], serial: Int64,
    floor: Int64 = 0
  ) throws -> JSONValue {
    let statement = try ReleaseStatement(
      app: AppName(app), bundle: BundleName(bundle), channels: channels, content: content,
      serial: try #require(Serial(serial)), floor: try #require(Serial(floor)))
    return try Signed(statement).signed(by: releaseKey).envelope.json
  }

  func prefetch(_ content: SHA256, serial: Int64) throws -> JSONValue {
    let statement = try PrefetchStatement(
      app: AppName(app), channels: [.online], content: content, serial: try #require(Serial(serial)))
    return try Signed(statement).signed(by: releaseKey).envelope.json
  }
}

extension TestOrigin {
  static let trust = "apps/shop/trust"

  /// The origin's key for heads.
  func headKey() throws -> TrustKey {
    let reply = try api("POST", "\(Self.trust)/head-key", [:])
    let text = try #require(reply.json["key"]?.string, "\(reply.text)")
    return try #require(TrustKey(base64: text))
  }

  /// What the origin has of each bundle of a channel.
  func contents(channel: String = "online") throws -> [String: SHA256] {
    let overview = try api("GET", Self.trust).json
    let own = overview["channels"]?.array?.first { $0["channel"]?.string == channel }
    var contents: [String: SHA256] = [:]
    for bundle in own?["bundles"]?.array ?? [] {
      contents[try #require(bundle["bundle"]?.string)] = bundle["content"]?.string.flatMap { SHA256(hex: $0) }
    }
    return contents
  }

  /// Puts a root in force, with statements for all that is there.
  @discardableResult
  func push(
    _ root: Signed<TrustRoot>, by publisher: TestPublisher, serial: Int64, dryRun: Bool = false
  ) throws -> Reply {
    let statements = try contents().sorted { $0.key < $1.key }.map {
      try publisher.statement($0.key, $0.value, serial: serial)
    }
    return try api(
      "POST", "\(Self.trust)/root",
      ["dryRun": .bool(dryRun), "releases": .array(statements), "root": root.envelope.json])
  }

  /// The content of a bundle of exactly these files, as `release` uploads them.
  func content(_ files: [String: String]) throws -> SHA256 {
    var content = BundleContent()
    for (path, text) in files.sorted(by: { $0.key < $1.key }) {
      let bytes = Array(text.utf8)
      let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
      let entry = Entry(
        ResourceContent(digest, ctype: ContentType.of(fileName: path)), download: "", version: 1)
      content.append(ManifestItem(url: try ResourceURL("https://m.example.com/\(path)"), entry: entry))
    }
    return content.digest()
  }

  /// Publishes a bundle of these files with its statement.
  @discardableResult
  func publish(
    _ files: [String: String], bundle: String = "main", signedBy publisher: TestPublisher, serial: Int64
  ) throws -> Reply {
    var body = try release(files, bundle: bundle).object ?? JSONObject()
    body["statements"] = [try publisher.statement(bundle, try content(files), serial: serial)]
    return try api("POST", "apps/shop/channels/online/releases", .object(body))
  }

  /// An origin with an app of two bundles, and its first root.
  static func trusted() throws -> (TestOrigin, TestPublisher, Signed<TrustRoot>) {
    let (origin, publisher) = (try TestOrigin(), TestPublisher())
    try origin.publish(["a.js": "one", "b.js": "b"])
    try origin.publish(["n.js": "news"], bundle: "news")
    let root = try publisher.root(1, head: origin.headKey())
    let reply = try origin.push(root, by: publisher, serial: 1000)
    #expect(reply.status == 201, "\(reply.text)")
    return (origin, publisher, root)
  }
}

/// A device with a root, as far as its check goes.
struct TestDevice {
  private(set) var state: TrustState
  /// What it took last, and whether that came as a patch.
  private(set) var held: (manifest: Manifest, isPatch: Bool)?

  init(_ root: Signed<TrustRoot>) { state = TrustState(builtIn: root) }

  /// Polls, and takes what passes.
  /// - Returns: why it takes nothing; nil if it takes what there is.
  mutating func poll(_ origin: TestOrigin) throws -> TrustFailure? {
    let known = held.map { "&version=\($0.manifest.version)&digest=\($0.manifest.map.digest.hex)&patch=1" }
    let reply = try origin.ask("GET", "/configure.json?app=shop\(known ?? "")")
    let answer = try ConfigureAnswer.parse(reply.body)
    let news: (manifest: Manifest, isPatch: Bool)? =
      switch answer {
      case .whole(let whole): (try whole.manifest(), false)
      case .patch(let patch): (try (held?.manifest ?? .empty).applying(patch), true)
      case .upToDate, .pack, .failure: nil
      }
    var offer = TrustOffer(rootNumber: answer.extras.root.flatMap { RootNumber($0) })
    for number
      in (state.root.number.number + 1)..<(max(answer.extras.root ?? 0, state.root.number.number) + 1)
    {
      offer.roots.append(Received(parsing: try origin.ask("GET", "/xcache/shop/root/\(number).json").body))
    }
    if let news {
      if let bytes = answer.trust {
        var reader = JSONReader(bytes)
        let trust = try AnswerTrust(reading: &reader)
        (offer.head, offer.releases) = (trust.head, trust.releases)
      }
      offer.manifest = TrustOffer.Manifest(news.manifest)
    }
    let verdict = try check(offer)
    if let news, verdict.isGood {
      held = news
      if let releases = verdict.releases { state.take(releases) }
      state.recordProof(in: .online)
    }
    return verdict.failure
  }

  /// Asks for the newest head.
  mutating func head(_ origin: TestOrigin) throws -> TrustFailure? {
    let reply = try origin.ask("GET", "/xcache/shop/head.json")
    return try check(TrustOffer(head: Received(parsing: reply.body))).failure
  }

  private mutating func check(_ offer: TrustOffer) throws -> TrustVerdict {
    let check = TrustCheck(
      place: TrustPlace(app: try AppName("shop"), channel: .online), verifier: SystemVerifier())
    let now = try #require(TrustTime(Clock.unixMilliseconds()))
    let verdict = check.check(offer, state: state, now: now)
    state = verdict.state
    return verdict
  }
}
