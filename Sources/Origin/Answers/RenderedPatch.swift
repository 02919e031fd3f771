import Compression
import Manifests
import System

/// The answer to a device that is at an older version, and the digest that this version had.
struct RenderedPatch: Sendable {
  /// Hexadecimal, as a device sends it.
  let baseDigest: [UInt8]
  let document: CodedDocument
  /// The answer to a device that takes packs; nil where there is none.
  private(set) var pack: CodedDocument?
  /// What it says beside the patch.
  let extras: AnswerExtras
  /// Bytes held, about.
  private(set) var cost: Int

  /// The smaller, gzipped, of the patch from `base` and the whole resourcemap.
  ///
  /// - Parameters:
  ///   - changes: what turns the resourcemap of `base` into the channel's, sorted by URL.
  ///   - deltas: what is offered beside it, as `DeltaOffer.render` writes it.
  ///   - whole: gives the whole manifest where the two have to be compared; where it gives none, neither does this.
  init?<Failure: Error>(
    _ channel: ChannelCatalog, from base: ManifestVersion, digest: SHA256, _ changes: [MapChange],
    deltas: [UInt8], whole: () throws(Failure) -> WholeManifest?
  ) throws(Failure) {
    let base = DocumentBase(base, deltas: deltas)
    baseDigest = Array(digest.hex.utf8)
    extras = channel.extras
    let bytes = Self.render(channel, base, changes)
    // No gzip of the map can be smaller than the patch is uncoded: deflate packs 1,032 bytes into one at most
    // (zlib, technical details, "Maximum Compression Factor").
    let mapBytes = channel.held.map?.byteCount ?? channel.channel.resources * Self.leastEntry
    if bytes.count > mapBytes / 1032 {
      guard let whole = try whole() else { return nil }
      let gzip = Gzip.encode([bytes])
      if gzip.count > whole.gzipCount {
        document = whole.document(from: base)
        // The map is the whole manifest's own, unless it is so small that it was copied.
        cost = min(document.byteCount, 3 * deltas.count + (100 << 10))
        return
      }
      document = .json(bytes, gzip: gzip)
    } else {
      document = .json(bytes)
    }
    cost = document.byteCount
  }

  /// What any entry takes in a manifest: its digests, its UUID and the names of its members.
  private static let leastEntry = 200

  /// A finished answer.
  init(_ document: CodedDocument, extras: AnswerExtras) {
    baseDigest = []
    self.document = document
    self.extras = extras
    cost = document.byteCount
  }

  /// The same, naming a pack to those that take one.
  func offering(_ offer: PackOffer?, _ channel: ChannelCatalog, from base: ManifestVersion) -> RenderedPatch {
    guard let offer else { return self }
    var answer = self
    let digest = channel.channel.digest ?? ManifestMap.empty.digest
    let pack = CodedDocument.json(
      Documents.pack(
        PackAnswer(
          base: base, version: channel.version, digest: digest, pack: offer, extras: extras)))
    answer.pack = pack
    answer.cost += pack.byteCount
    return answer
  }

  /// What a device is answered.
  func document(for query: PollQuery) -> CodedDocument {
    query.acceptsPack ? pack ?? document : document
  }

  private static func render(_ channel: ChannelCatalog, _ base: DocumentBase, _ changes: [MapChange])
    -> [UInt8]
  {
    let digest = channel.channel.digest ?? ManifestMap.empty.digest
    let frame = Documents.patch(channel.version, digest: digest, base: base, extras: channel.extras)
    return frame.around(MapChange.patch(changes))
  }
}

extension MapChange {
  /// What became of a URL, rendered.
  /// - Parameter lost: what `Entry.lost` says; nothing where no entry was before.
  init(url: ResourceURL, entry: Entry?, lost: JSONObject) {
    self.init(
      url: Array(url.text.utf8), entry: entry?.canonicalJSON,
      patch: lost.isEmpty ? nil : entry?.patch(lost: lost).canonical)
  }

  /// What a release would change.
  init(_ change: Manifests.EntryChange) {
    let lost = change.old.flatMap { old in change.new?.lost(since: old.others) }
    self.init(url: change.url, entry: change.new, lost: lost ?? JSONObject())
  }

  /// The value of `patch`.
  static func patch(_ changes: [MapChange]) -> [UInt8] {
    var patch = [UInt8(ascii: "{")]
    for (index, change) in changes.enumerated() {
      if index > 0 { patch.append(UInt8(ascii: ",")) }
      change.appendMember(to: &patch)
    }
    patch.append(UInt8(ascii: "}"))
    return patch
  }

  /// Bytes of a patch as it is sent, about: compressed, without its deltas.
  static func patchCount(_ changes: [MapChange]) -> Int { Zstd.encode([patch(changes)]).count }

  /// `"url":{…}`, or `"url":null` where it left (RFC 7396).
  fileprivate func appendMember(to out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    out += url
    out += Array("\":".utf8)
    out += patch ?? entry ?? Array("null".utf8)
  }
}
