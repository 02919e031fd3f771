import Manifests
import Store
import System
import Testing
import Trust
import Values

@testable import Mirror

/// A bench whose app has a root from version 3 on, and a version 4 under it.
struct SignedBench {
  let bench: Bench
  let rootKey = P256PrivateKey()
  let releaseKey = P256PrivateKey()
  /// A key for heads that isn't the origin's.
  let spareHead = P256PrivateKey()
  let root: Signed<TrustRoot>

  /// - Parameter origin: nil leaves out the origin's key for heads, so that only `spareHead` signs.
  init() throws {
    bench = try Bench(versions: 2)
    let origin = try bench.store.makeHeadKey(another: false, by: .local).key
    let document = try TrustRoot(
      app: try AppName("shop"), number: .first,
      keys: [rootKey, releaseKey, spareHead].map(\.trustKey) + [origin],
      roots: try #require(KeyGroup([rootKey.trustKey.id], threshold: 1)),
      grants: [
        ReleaseGrant(signers: try #require(KeyGroup([releaseKey.trustKey.id], threshold: 1)))
      ],
      prefetch: [releaseKey.trustKey.id], heads: [origin.id, spareHead.trustKey.id])
    root = try Signed(document).signed(by: rootKey)
    var input = RootInput(app: try AppName("shop"), root: root, by: .local)
    input.releases = [
      try statement(["index.html": "<p>version 1", "app.1.js": "run(1)", "same.css": "p{}"], 10)
    ]
    _ = try bench.store.push(input)
    try release(["index.html": "<p>signed", "app.1.js": "run(1)", "same.css": "p{}"], 20)
  }

  var store: Store { bench.store }
  var shop: ChannelInfo { get throws { try bench.shop(store) } }

  private func content(_ text: String, of name: String) -> ResourceContent {
    let bytes = Array(text.utf8)
    return ResourceContent(
      FileDigest(md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count)), ctype: .of(fileName: name))
  }

  /// A statement for all that the bundle `main` contains.
  func statement(_ files: [String: String], _ serial: Int64, floor: Int64 = 0) throws -> Signed<
    ReleaseStatement
  > {
    var content = BundleContent()
    for (name, text) in files.sorted(by: { $0.key < $1.key }) {
      content.append(
        ManifestItem(
          url: try ResourceURL(Bench.base + name),
          entry: Entry(self.content(text, of: name), download: "", version: 0)))
    }
    return try Signed(
      ReleaseStatement(
        app: try AppName("shop"), bundle: try BundleName("main"), channels: [.online],
        content: content.digest(), serial: try #require(Serial(serial)), floor: try #require(Serial(floor)))
    ).signed(by: releaseKey)
  }

  /// Publishes the bundle `main` with exactly these files.
  @discardableResult
  func release(_ files: [String: String], _ serial: Int64, floor: Int64 = 0, into other: Store? = nil) throws
    -> ReleaseOutcome
  {
    let store = other ?? self.store
    let channel = try bench.shop(store)
    var set: [ResourceURL: ResourceContent] = [:]
    for (name, text) in files {
      let (content, bytes) = (content(text, of: name), Array(text.utf8))
      _ = try store.receive(
        bytes.span.bytes, BlobClaim(sha256: content.sha256, md5: content.md5, size: content.size))
      set[try ResourceURL(Bench.base + name)] = content
    }
    let held = try store.manifest(channel, at: channel.version).map(\.url)
    let name = try BundleName("main")
    let base = try store.bundles(of: channel).first { $0.name == name }?.version ?? .none
    var input = ReleaseInput(
      app: channel.app, channel: channel.name, author: "ci",
      bundles: [
        BundleChange(name, .update(base: base, set: set, remove: Set(held.filter { set[$0] == nil })))
      ],
      publicURLForNew: try BaseURL("https://cdn.example.com/hxm"))
    input.statements = [try statement(files, serial, floor: floor)]
    return try store.commit(input)
  }

  func verify(_ roots: [Signed<TrustRoot>]? = nil) throws -> [Divergence] {
    try Verification(FolderReader(bench.www), roots: roots ?? [root]).run().divergences
  }

  /// What verify says of signatures in a document of the copy.
  func failures(_ name: String) throws -> [TrustFailure] {
    try verify().filter { $0.path == "xcache/shop/\(name)" }.compactMap {
      if case .trust(let failure, _) = $0.kind { failure } else { nil }
    }
  }

  func path(_ name: String) -> String { "\(bench.www)/xcache/shop/\(name)" }

  func bytes(_ name: String) throws -> [UInt8] { try #require(try DurableFile.read(path(name))) }

  func head() throws -> Signed<TrustHead> { try Signed(parsing: bytes("head.json")) }

  /// Replaces a document of the copy, and what `mirror.json` says of it.
  func replace(_ name: String, _ bytes: [UInt8]) throws {
    try DurableFile.write(bytes, to: path(name))
    try HostileIndexTests.list(bench, "xcache/shop/\(name)")
  }

  func key(_ key: P256PrivateKey) -> HeadRenewal.Key {
    HeadRenewal.Key(key: key.trustKey) { (message) throws(MirrorError) in
      guard let signature = P256Signature(der: key.sign(message)) else { throw .badPlace("no signature") }
      return signature
    }
  }
}

/// A data folder whose head was signed anew since, and says the same.
struct RenewedSource: MirrorSource {
  let source: DataSource
  let key: P256PrivateKey
  /// By how many milliseconds it is newer.
  let later: Int64

  func origin() throws(MirrorError) -> OriginState { try source.origin() }

  func channels(keep: Int) throws(MirrorError) -> [MirroredChannelState] {
    var states = try source.channels(keep: keep)
    for index in states.indices {
      guard let bytes = states[index].head, let old = try? Signed<TrustHead>(parsing: bytes).document,
        let at = TrustTime(old.at.milliseconds + later),
        let until = TrustTime(old.until.milliseconds + later),
        let head = try? TrustHead(
          app: old.app, environment: old.environment, channel: old.channel, version: old.version,
          digest: old.digest, candidate: old.candidate, policy: old.policy, prefetch: old.prefetch, at: at,
          until: until),
        let signed = try? Signed(head).signed(by: key)
      else { throw .badPlace("no head") }
      states[index].head = signed.envelope.bytes
    }
    return states
  }

  func resources(of channel: MirroredChannelState) throws(MirrorError) -> [MirroredResource] {
    try source.resources(of: channel)
  }

  func document(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError) -> [UInt8] {
    try source.document(document, of: channel)
  }

  func file(of resource: MirroredResource, at path: String) throws(MirrorError) -> LocalFile {
    try source.file(of: resource, at: path)
  }

  func file(of delta: DeltaPath, at path: String) throws(MirrorError) -> LocalFile {
    try source.file(of: delta, at: path)
  }

  func file(of pack: PackPath, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try source.file(of: pack, channel, at: path)
  }

  func has(_ zip: BundleZip, of channel: MirroredChannelState) throws(MirrorError) -> Bool {
    try source.has(zip, of: channel)
  }

  func file(of zip: BundleZip, _ channel: MirroredChannelState, at path: String) throws(MirrorError)
    -> LocalFile
  {
    try source.file(of: zip, channel, at: path)
  }

  func hold(_ seconds: Int) throws(MirrorError) { try source.hold(seconds) }
  func release() { source.release() }

  func register(_ name: String, _ versions: [ChannelVersion]) throws(MirrorError) {
    try source.register(name, versions)
  }
}
