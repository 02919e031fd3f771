import Manifests
import System
import Trust
import Values

/// A bundle of a channel as an origin has it, with what devices make sure of.
package struct LiveBundle: Sendable {
  package let bundle: BundleName
  /// Its resources, ordered by URL; each entry names the bundle.
  package let items: [ManifestItem]
  /// The digest of what is signed of it, computed here.
  package let content: SHA256

  package init(_ bundle: BundleName, items: [ManifestItem]) {
    self.bundle = bundle
    self.items = items
    var content = BundleContent()
    for item in items { content.append(item) }
    self.content = content.digest()
  }

  /// Reads a bundle's entries as the API has them.
  package init(_ bundle: BundleName, entries: JSONValue) throws(JSONError) {
    guard let entries = entries.object else { throw .member("entries") }
    var items: [ManifestItem] = []
    items.reserveCapacity(entries.count)
    for member in entries.members {
      guard let url = try? ResourceURL(member.key), UTF8Order.areEqual(url.text, member.key) else {
        throw .member("entries")
      }
      let json = member.value
      var others = JSONObject()
      others["bundle"] = .string(bundle.text)
      others["headers"] = json["headers"]
      others["fallback"] = json["fallback"]
      let entry = Entry(
        ctype: try json.string("ctype"), download: "", md5: try json.md5("md5"),
        sha256: try json.sha256("sha256"), size: try json.size("size"), version: 1, others: others)
      items.append(ManifestItem(url: url, entry: entry))
    }
    self.init(bundle, items: items)
  }

  /// Reads the bundles of a manifest whose entries name them.
  package static func bundles(of manifest: JSONValue) throws(JSONError) -> [BundleName: LiveBundle] {
    guard let entries = manifest.object else { throw .member("resourcemap") }
    var items: [String: [ManifestItem]] = [:]
    for member in entries.members {
      guard let url = try? ResourceURL(member.key) else { throw .member("resourcemap") }
      let entry = try Entry(json: member.value)
      items[try member.value.string("bundle"), default: []].append(ManifestItem(url: url, entry: entry))
    }
    var bundles: [BundleName: LiveBundle] = [:]
    for (text, items) in items {
      guard let name = try? BundleName(text) else { throw .member("bundle") }
      bundles[name] = LiveBundle(name, items: items)
    }
    return bundles
  }
}

/// Whether devices that have a root would take a bundle, or a prefetch config: by the check that they run.
package struct RootJudge: Sendable {
  package let root: Signed<TrustRoot>

  package init(_ root: Signed<TrustRoot>) { self.root = root }

  /// Returns why they would refuse a bundle with this statement; nil if they take it.
  package func failure(
    of live: LiveBundle, _ statement: Signed<ReleaseStatement>?, in channel: ChannelName
  ) -> TrustFailure? {
    failure(in: channel) { digest, version in
      TrustOffer(
        releases: statement.map { [.success($0)] } ?? [],
        manifest: TrustOffer.Manifest(version: version, digest: digest, items: live.items))
    }
  }

  /// The same for a prefetch config.
  package func failure(
    ofPrefetch digest: SHA256, _ statement: Signed<PrefetchStatement>?, in channel: ChannelName
  ) -> TrustFailure? {
    failure(in: channel) { _, _ in
      TrustOffer(
        prefetch: TrustOffer.Prefetch(version: 1, digest: digest, statement: statement.map { .success($0) }))
    }
  }

  /// The origin signs the head only once all that it leads to is signed; here it is taken for signed.
  private func failure(
    in channel: ChannelName, _ offer: (SHA256, ManifestVersion) -> TrustOffer
  ) -> TrustFailure? {
    let document = root.document
    let digest = SHA256.of([])
    guard !document.isOff, let key = document.heads.first, let first = P256Signature(der: Self.someSignature),
      let now = TrustTime(0)
    else { return nil }
    let version = ManifestVersion(1)
    let head = try? Signed(
      TrustHead(
        app: document.app, environment: document.environment, channel: channel, version: version,
        digest: digest,
        at: now, until: now), signatures: [Envelope.Signature(key: key, signature: first)])
    guard let head else { return .headForm }
    var offer = offer(digest, version)
    offer.head = .success(head)
    let place = TrustPlace(app: document.app, environment: document.environment, channel: channel)
    return TrustCheck(place: place, verifier: Verifier(assumed: head.envelope.message))
      .check(offer, state: TrustState(builtIn: root), now: now).failure
  }

  private static let someSignature: [UInt8] = [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01]

  private struct Verifier: SignatureVerifier {
    /// What is taken for signed.
    let assumed: [UInt8]

    func verifies(_ signature: P256Signature, of message: [UInt8], by key: TrustKey) -> Bool {
      message == assumed || SystemVerifier().verifies(signature, of: message, by: key)
    }
  }
}
