import DeviceTestSupport
import Manifests
import System
import TestSupport
import Testing
import Trust
import Values

@testable import XCacheDevice

/// An app with a root, whose origin answers whatever a test has it answer.
struct TrustBench {
  /// A version of the channel.
  struct Release {
    let version: Int64
    let items: [ManifestItem]

    var manifest: Manifest { Manifest(version: ManifestVersion(version), items: items) }
    var digest: SHA256 { manifest.map.digest }
    var bundles: [String] {
      Set(items.compactMap { $0.entry.others["bundle"]?.string }).sorted()
    }
  }

  static let page = "https://m.test/index.html"
  static let script = "https://m.test/app.js"
  static let pay = "https://m.test/pay.html"

  let bench: Bench
  let rootKey = P256PrivateKey()
  let spareKey = P256PrivateKey()
  let publisher = P256PrivateKey()
  let headKey = P256PrivateKey()
  /// Keys that no root names, unless a test says so.
  let thief = P256PrivateKey()
  let newKey = P256PrivateKey()
  let first: Release
  let second: Release
  let third: Release

  var origin: FakeOrigin { bench.origin }
  var start: Int64 { 1_800_000_000_000 }

  init() throws {
    bench = try Bench()
    let origin = bench.origin
    func release(_ version: Int64, _ page: String, _ pay: String) throws -> Release {
      try Self.release(
        version, [Self.page: ("home", page), Self.script: ("home", "let a"), Self.pay: ("pay", pay)],
        at: origin)
    }
    first = try release(1, "one", "pay one")
    second = try release(2, "two", "pay one")
    third = try release(3, "three", "pay three")
  }

  /// Makes a version, whose files the CDN then has.
  static func release(
    _ version: Int64, _ files: [String: (bundle: String?, text: String)], at origin: FakeOrigin
  ) throws -> Release {
    let items = try files.map { url, file in
      let (text, url) = (bytes(file.text), try ResourceURL(url))
      let path = DownloadPath(
        channel: .online, appID: 1, manifestVersion: ManifestVersion(version), resourceVersion: version,
        sha256: SHA256.of(text), url: url)
      var others = JSONObject()
      others["bundle"] = file.bundle.map { .string($0) }
      let entry = Entry(
        ctype: "text/plain", download: "https://cdn.test/x/\(path.text)", md5: MD5.of(text.span.bytes),
        sha256: SHA256.of(text), size: Int64(text.count), version: version, others: others)
      origin.serve(text, at: entry.download)
      return ManifestItem(url: url, entry: entry)
    }
    return Release(version: version, items: items)
  }

  // MARK: Documents

  func root(
    _ number: Int64 = 1, app: String = "shop", environment: String? = nil, roots: [P256PrivateKey]? = nil,
    threshold: Int = 1, publishers: [P256PrivateKey]? = nil, heads: [P256PrivateKey]? = nil,
    prefixes: ReleaseGrant.Scope<ReleaseGrant.URLPrefix> = .all, floors: [String: Int64] = [:],
    scriptKey: [UInt8]? = nil, isOff: Bool = false, by signers: [P256PrivateKey]? = nil
  ) throws -> Signed<TrustRoot> {
    let (roots, publishers, heads) = (
      roots ?? [rootKey, spareKey], publishers ?? [publisher], heads ?? [headKey]
    )
    let root = try TrustRoot(
      app: AppName(app), environment: environment.flatMap { TrustEnvironment($0) },
      number: #require(RootNumber(number)), keys: (roots + publishers + heads).map(\.trustKey),
      roots: #require(KeyGroup(Set(roots.map(\.trustKey.id)), threshold: threshold)),
      grants: [
        ReleaseGrant(signers: #require(KeyGroup(Set(publishers.map(\.trustKey.id)))), prefixes: prefixes)
      ], prefetch: Set(publishers.map(\.trustKey.id)), heads: Set(heads.map(\.trustKey.id)),
      floors: Dictionary(
        uniqueKeysWithValues: floors.map { (try BundleName($0.key), try #require(Serial($0.value))) }),
      scriptKey: scriptKey, isOff: isOff)
    return try signed(root, by: signers ?? [rootKey])
  }

  func signed<Document: TrustDocument>(
    _ document: Document, by keys: [P256PrivateKey]
  ) throws -> Signed<Document> {
    try keys.reduce(Signed(document)) { try $0.signed(by: $1) }
  }

  func statement(
    _ release: Release, _ bundle: String = "home", app: String = "shop", environment: String? = nil,
    channels: Set<String> = ["online"], serial: Int64? = nil, floor: Int64 = 0,
    by keys: [P256PrivateKey]? = nil
  ) throws -> Signed<ReleaseStatement> {
    var content = BundleContent()
    for item in release.manifest.items where item.entry.others["bundle"] == .string(bundle) {
      content.append(item)
    }
    let statement = try ReleaseStatement(
      app: AppName(app), environment: environment.flatMap { TrustEnvironment($0) },
      bundle: BundleName(bundle), channels: Set(channels.map { try ChannelName($0) }),
      content: content.digest(), serial: #require(Serial(serial ?? start + release.version)),
      floor: #require(Serial(floor)))
    return try signed(statement, by: keys ?? [publisher])
  }

  func statements(_ release: Release, by keys: [P256PrivateKey]? = nil) throws -> [Signed<ReleaseStatement>] {
    try release.bundles.map { try statement(release, $0, by: keys) }
  }

  func head(
    _ release: Release, app: String = "shop", environment: String? = nil, channel: String = "online",
    candidate: TrustHead.Candidate? = nil, policy: Int64 = 0, prefetch: Int64 = 0, at: Int64? = nil,
    by keys: [P256PrivateKey]? = nil
  ) throws -> Signed<TrustHead> {
    let at = at ?? start + 1000 * release.version
    let head = try TrustHead(
      app: AppName(app), environment: environment.flatMap { TrustEnvironment($0) },
      channel: ChannelName(channel), version: ManifestVersion(release.version), digest: release.digest,
      candidate: candidate, policy: policy, prefetch: prefetch, at: #require(TrustTime(at)),
      until: #require(TrustTime(at + 30 * 86_400_000)))
    return try signed(head, by: keys ?? [headKey])
  }

  // MARK: The origin

  /// Has the origin answer with a version; what isn't said is as an honest one has it.
  func offer(
    _ release: Release, root: Int64 = 1, head: Signed<TrustHead>? = nil,
    statements: [Signed<ReleaseStatement>]? = nil, _ members: String = ""
  ) throws {
    let head = try head ?? self.head(release)
    let statements = try statements ?? self.statements(release)
    try offer(
      release, root: root,
      trust: ["head": head.envelope.json, "releases": .array(statements.map(\.envelope.json))], members)
  }

  func offer(_ release: Release, root: Int64 = 1, trust: JSONValue?, _ members: String = "") throws {
    let map = JSONObject(
      release.manifest.items.map { JSONObject.Member(key: $0.url.text, value: $0.entry.json) })
    origin.publish(raw: map, version: release.version)
    let trust = trust.map { #","trust":"# + String(decoding: $0.canonical, as: UTF8.self) } ?? ""
    origin.say(#","root":"\#(root)"\#(trust)\#(members)"#)
  }

  func rootURL(_ number: Int64) -> String { "\(FakeOrigin.server)/xcache/shop/root/\(number).json" }
  var headURL: String { "\(FakeOrigin.server)/xcache/shop/head.json" }

  func serve(_ root: Signed<TrustRoot>, as number: Int64? = nil) {
    origin.serve(root.envelope.bytes, at: rootURL(number ?? root.document.number.number))
  }

  // MARK: The device

  func device(
    _ name: String = "device", root: Signed<TrustRoot>? = nil,
    willChange: (@Sendable () throws(DeviceError) -> Void)? = nil,
    change: (inout DeviceSettings) -> Void = { _ in }
  ) throws -> Device {
    let root = try root ?? self.root()
    return try bench.device(name, willChange: willChange) {
      $0.root = root.envelope.bytes
      change(&$0)
    }
  }

  /// A device that holds the first version.
  func holder(_ name: String = "device", root: Signed<TrustRoot>? = nil) throws -> Device {
    try offer(first)
    let device = try device(name, root: root)
    _ = try device.update(force: true)
    #expect(device.version == "1")
    _ = origin.takeLog()
    return device
  }

  /// Updates, and expects that this fails the check, changes nothing, and fetches no file; returns the requests.
  @discardableResult
  func refuse(_ device: Device, _ check: TrustFailure, _ location: SourceLocation = #_sourceLocation)
    -> [String]
  {
    _ = origin.takeLog()
    let version = device.version
    do {
      _ = try device.update(force: true)
      Issue.record("it was taken", sourceLocation: location)
    } catch {
      guard case .untrusted(_, _, let failed) = error else {
        Issue.record(error, sourceLocation: location)
        return []
      }
      #expect(failed == check.rawValue, sourceLocation: location)
    }
    #expect(device.version == version, sourceLocation: location)
    let log = origin.takeLog()
    #expect(!log.contains { $0.hasPrefix("https://cdn.test/") }, sourceLocation: location)
    return log
  }

  /// Updates to a version, and expects that the device has it.
  func take(_ device: Device, _ release: Release, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(try device.update(force: true).to == "\(release.version)", sourceLocation: location)
    #expect(device.digest == release.digest.hex, sourceLocation: location)
  }

  /// What was reported: reason and version.
  func reports(_ device: Device) -> [String] {
    device.finishReports(milliseconds: 60_000)
    return origin.takeTold().map {
      "\($0.document["reason"]?.string ?? "") \($0.document["version"]?.string ?? "")"
    }
  }
}

extension [String] {
  /// How many of the polls named the manifest that the device holds, and how many didn't.
  var polls: (versioned: Int, bare: Int) {
    let polls = filter { $0.contains("/configure.json?") }
    let versioned = polls.count { $0.contains("&digest=") }
    return (versioned, polls.count - versioned)
  }
}
