import Compression
import HTTP
import Manifests
import Store
import System

/// A resourcemap compressed once and shared by all answers that contain it. Uncompressed, it is produced while it is sent.
final class RenderedMap: Sendable {
  private let map: ManifestMap
  private let gzip: (middle: GzipMiddle, blocks: SharedBytes)
  private let zstd: (middle: ZstdMiddle, blocks: SharedBytes)

  /// Half of a manifest is digests, in which a longer search finds matches that cost more than they save: 82,137 bytes in
  /// 1.4 ms, compared with 87,060 in 3.1 at level 3.
  private static let zstdLevel: Int32 = 1

  /// Compresses the map; takes about a third of a second for 50 MB.
  init(_ map: ManifestMap) {
    self.map = map
    let (deflated, deflatedBlocks) = GzipMiddle.code { map.forEachPart($0) }
    gzip = (deflated, SharedBytes(deflatedBlocks))
    let (coded, codedBlocks) = ZstdMiddle.code(count: map.byteCount, level: Self.zstdLevel) {
      map.forEachPart($0)
    }
    zstd = (coded, SharedBytes(codedBlocks))
  }

  /// The digest of the map.
  var digest: SHA256 { map.digest }

  /// Returns the document with the map in this frame, and the size of its gzip body in bytes.
  func document(in frame: DocumentFrame, tag: String) -> (document: CodedDocument, gzipCount: Int) {
    let gzip = Self.join(self.gzip.middle.around(frame.prefix, frame.suffix), self.gzip.blocks)
    let zstd = Self.join(self.zstd.middle.around(frame.prefix, frame.suffix), self.zstd.blocks)
    let gzipCount = gzip.reduce(0) { $0 + $1.count }
    // With zstd, what surrounds the map isn't compressed: if there is much of it, gzip is smaller.
    let isSmaller = zstd.reduce(0) { $0 + $1.count } <= gzipCount + gzipCount / 4
    return (
      .json(map.body(frame.prefix, frame.suffix), tag: tag, gzip: gzip, zstd: isSmaller ? zstd : nil),
      gzipCount
    )
  }

  private static func join(_ ends: (head: [UInt8], tail: [UInt8]), _ blocks: SharedBytes) -> [SharedBytes] {
    [SharedBytes(ends.head), blocks, SharedBytes(ends.tail)]
  }
}

/// The whole manifest of a version, compressed once.
struct WholeManifest: Sendable {
  let document: CodedDocument
  /// What it carries besides the manifest.
  let extras: AnswerExtras
  /// The member `trust`; nil in a channel without a root.
  let trust: [UInt8]?
  /// The first pack that it names; nil if there is none.
  let first: PackOffer?
  /// The size in bytes of the gzip body without a first pack, which a patch has to beat.
  let gzipCount: Int
  /// Its resourcemap, for answers with other surroundings.
  let map: RenderedMap

  private let channel: ChannelInfo
  private let digest: SHA256

  init(
    _ channel: ChannelInfo, _ map: ManifestMap, _ extras: AnswerExtras, trust: [UInt8]? = nil,
    first: PackOffer? = nil
  ) {
    self.init(channel, rendered: RenderedMap(map), extras, trust: trust, first: first)
  }

  /// Puts a map that is coded already into its frame.
  init(
    _ channel: ChannelInfo, rendered map: RenderedMap, _ extras: AnswerExtras, trust: [UInt8]?,
    first: PackOffer? = nil
  ) {
    self.channel = channel
    self.extras = extras
    self.trust = trust
    self.first = first
    self.map = map
    digest = channel.digest ?? map.digest
    let plain = Self.document(channel, map, digest, extras, trust)
    gzipCount = plain.gzipCount
    guard let first else {
      document = plain.document
      return
    }
    document = Self.document(channel, map, digest, extras, trust, first: first).document
  }

  /// Returns the same manifest with other extras, in a channel without a root.
  func with(_ extras: AnswerExtras) -> WholeManifest {
    WholeManifest(channel, rendered: map, extras, trust: trust, first: first)
  }

  /// Returns the answer to devices that are at `base` and accept patches, if the whole manifest is smaller. It names no first pack,
  /// which is for devices without a manifest.
  func document(from base: DocumentBase) -> CodedDocument {
    Self.document(channel, map, digest, extras, trust, base: base).document
  }

  private static func document(
    _ channel: ChannelInfo, _ map: RenderedMap, _ digest: SHA256, _ extras: AnswerExtras, _ trust: [UInt8]?,
    base: DocumentBase? = nil, first: PackOffer? = nil
  ) -> (document: CodedDocument, gzipCount: Int) {
    let from = base.map { "\($0.version)-\(SHA256.of($0.deltas).hex.prefix(8))-" } ?? ""
    let signed = trust.map { "-t\(SHA256.of($0).hex.prefix(16))" } ?? ""
    let packed = first.map { "-f\(SHA256.of(Array($0.download.utf8)).hex.prefix(16))" } ?? ""
    return map.document(
      in: Documents.whole(
        channel.version, digest: digest, base: base, first: first, extras: extras, trust: trust),
      tag: "\(digest.hex.prefix(32))-\(from)\(channel.version)\(extras.tag)\(signed)\(packed)")
  }
}

extension AnswerExtras {
  /// The part of an entity tag for these: answers that differ only in them have different bytes.
  fileprivate var tag: String {
    let parts = [
      edge.map { "e\($0)" }, policy.map { "p\($0)" }, prefetch.map { "c\($0)" }, interval.map { "i\($0)" },
      reports.map { "s\($0)" }, rollback.map { "r\($0)" }, samples.map { "m\($0)" },
      rollout.map { "o\(SHA256.of($0.json.canonical).hex.prefix(16))" }, root.map { "k\($0)" },
    ]
    return parts.compactMap { $0 }.map { "-\($0)" }.joined()
  }
}
