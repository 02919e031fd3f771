import Compression
import Manifests
import System
import Values

/// The answer to a device at an older version, and that version's digest.
struct RenderedPatch: Sendable {
  /// In hexadecimal, as sent by devices.
  let baseDigest: [UInt8]
  let document: CodedDocument
  /// The answer to a device that accepts packs; nil if there is no pack.
  private(set) var pack: CodedDocument?
  /// Whether that pack leaves lazy files out, so that only devices that know of them can use it.
  private(set) var isPackPartial = false
  /// What it carries besides the patch.
  let extras: AnswerExtras
  /// The member `trust` of an answer that isn't a whole manifest; nil in a channel without a root.
  private let trust: [UInt8]?
  /// The approximate memory that it takes, in bytes.
  private(set) var cost: Int

  /// Picks the smaller, gzipped, of the patch from `base` and the whole resourcemap.
  ///
  /// `changes`, sorted by URL, turn the resourcemap of `base` into the channel's; `deltas` are what it offers, as written
  /// by `DeltaOffer.render`, and `trust` its member of that name. `whole` returns the whole manifest if the two have to be compared; if
  /// it returns nil, so does this.
  init?<Failure: Error>(
    _ channel: ChannelCatalog, from base: ManifestVersion, digest: SHA256, _ changes: [MapChange],
    deltas: [UInt8], trust: [UInt8]? = nil, whole: () throws(Failure) -> WholeManifest?
  ) throws(Failure) {
    let base = DocumentBase(base, deltas: deltas)
    baseDigest = Array(digest.hex.utf8)
    extras = channel.extras
    self.trust = trust
    let bytes = Self.render(channel, base, changes, trust)
    // No gzip of the map can be smaller than the patch uncompressed: deflate packs at most 1,032 bytes into one (zlib,
    // technical details, "Maximum Compression Factor").
    let mapBytes = channel.held.map?.byteCount ?? channel.channel.resources * Self.leastEntry
    if bytes.count > mapBytes / 1032 {
      guard let whole = try whole() else { return nil }
      let gzip = Gzip.encode([bytes])
      if gzip.count > whole.gzipCount {
        document = whole.document(from: base)
        // The map is shared with the whole manifest, unless it is so small that it was copied.
        cost = min(document.byteCount, 3 * deltas.count + (100 << 10))
        return
      }
      document = .json(bytes, gzip: gzip)
    } else {
      document = .json(bytes)
    }
    cost = document.byteCount
  }

  /// The minimum size of an entry in a manifest: its digests, its UUID and the names of its members.
  private static let leastEntry = 200

  /// Wraps a finished answer.
  init(_ document: CodedDocument, extras: AnswerExtras) {
    baseDigest = []
    trust = nil
    self.document = document
    self.extras = extras
    cost = document.byteCount
  }

  /// Returns the same answer, naming a pack for those that accept one.
  func offering(_ offered: OfferedPack?, _ channel: ChannelCatalog, from base: ManifestVersion)
    -> RenderedPatch
  {
    guard let offered else { return self }
    var answer = self
    let digest = channel.channel.digest ?? ManifestMap.empty.digest
    let pack = CodedDocument.json(
      Documents.pack(
        PackAnswer(
          base: base, version: channel.version, digest: digest, pack: offered.offer, extras: extras,
          trust: trust)))
    answer.pack = pack
    answer.isPackPartial = offered.format == .partial
    answer.cost += pack.byteCount
    return answer
  }

  /// Returns the answer for a device.
  func document(for query: PollQuery) -> CodedDocument {
    guard query.acceptsPack, let pack, query.knowsLazy || !isPackPartial else { return document }
    return pack
  }

  private static func render(
    _ channel: ChannelCatalog, _ base: DocumentBase, _ changes: [MapChange], _ trust: [UInt8]?
  ) -> [UInt8] {
    let digest = channel.channel.digest ?? ManifestMap.empty.digest
    let frame = Documents.patch(
      channel.version, digest: digest, base: base, extras: channel.extras, trust: trust)
    return frame.around(MapChange.patch(changes))
  }
}

extension MapChange {
  /// A rendered change to a URL. `lost` is what `Entry.lost` returns, or empty if there was no entry before.
  init(url: ResourceURL, entry: Entry?, lost: JSONObject) {
    self.init(
      url: Array(url.text.utf8), entry: entry?.canonicalJSON,
      patch: lost.isEmpty ? nil : entry?.patch(lost: lost).canonical)
  }

  /// A change that a release would make.
  init(_ change: EntryDifference) {
    let lost = change.old.flatMap { old in change.new?.lost(since: old.others) }
    self.init(url: change.url, entry: change.new, lost: lost ?? JSONObject())
  }

  /// Returns the value of the member `patch`.
  static func patch(_ changes: [MapChange]) -> [UInt8] {
    var patch = [UInt8(ascii: "{")]
    for (index, change) in changes.enumerated() {
      if index > 0 { patch.append(UInt8(ascii: ",")) }
      change.appendMember(to: &patch)
    }
    patch.append(UInt8(ascii: "}"))
    return patch
  }

  /// Returns the approximate size of a patch as sent: compressed, without its deltas.
  static func patchCount(_ changes: [MapChange]) -> Int { Zstd.encode([patch(changes)]).count }

  /// Appends `"url":{…}`, or `"url":null` for a removed URL (RFC 7396).
  fileprivate func appendMember(to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    out += url
    out += Array("\":".utf8)
    out += patch ?? entry ?? Array("null".utf8)
  }
}
