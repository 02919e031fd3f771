import Compression
import HTTP
import Manifests
import Store
import System

/// A resourcemap in the codings of the answers that contain it: coded once, and shared by all of them. As it is, it is
/// made while it is sent.
final class RenderedMap: Sendable {
  private let map: ManifestMap
  private let gzip: (middle: GzipMiddle, blocks: SharedBytes)
  private let zstd: (middle: ZstdMiddle, blocks: SharedBytes)

  /// Half of a manifest are digests, in which a longer search finds matches that cost more than they save: 82,137 bytes in 1.4
  /// ms, where level 3 gives 87,060 in 3.1.
  private static let zstdLevel: Int32 = 1

  /// Codes the map; takes about a third of a second for 50 MB.
  init(_ map: ManifestMap) {
    self.map = map
    let (deflated, deflatedBlocks) = GzipMiddle.code { map.forEachPart($0) }
    gzip = (deflated, SharedBytes(deflatedBlocks))
    let (coded, codedBlocks) = ZstdMiddle.code(count: map.byteCount, level: Self.zstdLevel) {
      map.forEachPart($0)
    }
    zstd = (coded, SharedBytes(codedBlocks))
  }

  /// The document that has the map in this frame, and the bytes of its gzip body.
  func document(in frame: DocumentFrame, tag: String) -> (document: CodedDocument, gzipCount: Int) {
    let gzip = Self.join(self.gzip.middle.around(frame.prefix, frame.suffix), self.gzip.blocks)
    let zstd = Self.join(self.zstd.middle.around(frame.prefix, frame.suffix), self.zstd.blocks)
    let gzipCount = gzip.reduce(0) { $0 + $1.count }
    // What stands around the map isn't compressed there: much of it, and gzip is the smaller one.
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

/// The whole manifest of a version, coded once.
struct WholeManifest: Sendable {
  let document: CodedDocument
  /// What it says beside the manifest.
  let extras: AnswerExtras
  /// Bytes of the gzip body, which a patch has to beat.
  let gzipCount: Int
  /// Its resourcemap, for answers that say something else around it.
  let map: RenderedMap

  private let channel: ChannelInfo
  private let digest: SHA256

  init(_ channel: ChannelInfo, _ map: ManifestMap, _ extras: AnswerExtras) {
    self.init(channel, RenderedMap(map), digest: channel.digest ?? map.digest, extras)
  }

  private init(_ channel: ChannelInfo, _ map: RenderedMap, digest: SHA256, _ extras: AnswerExtras) {
    self.channel = channel
    self.digest = digest
    self.extras = extras
    self.map = map
    (document, gzipCount) = Self.document(channel, map, digest, extras, base: nil)
  }

  /// The same manifest with other words beside it.
  func with(_ extras: AnswerExtras) -> WholeManifest {
    WholeManifest(channel, map, digest: digest, extras)
  }

  /// The answer to devices that are at `base` and understand patches, but for which the whole is smaller.
  func document(from base: DocumentBase) -> CodedDocument {
    Self.document(channel, map, digest, extras, base: base).document
  }

  private static func document(
    _ channel: ChannelInfo, _ map: RenderedMap, _ digest: SHA256, _ extras: AnswerExtras, base: DocumentBase?
  ) -> (document: CodedDocument, gzipCount: Int) {
    let from = base.map { "\($0.version)-\(SHA256.of($0.deltas).hex.prefix(8))-" } ?? ""
    return map.document(
      in: Documents.whole(channel.version, digest: digest, base: base, extras: extras),
      tag: "\(digest.hex.prefix(32))-\(from)\(channel.version)\(extras.tag)")
  }
}

extension AnswerExtras {
  /// What an entity tag has of them: answers that differ in them alone are different bytes.
  fileprivate var tag: String {
    let parts = [
      policy.map { "p\($0)" }, prefetch.map { "c\($0)" }, interval.map { "i\($0)" },
      reports.map { "s\($0)" }, rollback.map { "r\($0)" },
    ]
    return parts.compactMap { $0 }.map { "-\($0)" }.joined()
  }
}
