import Compression
import HTTP
import Manifests

/// A resourcemap in the codings of the answers that contain it: rendered once, and shared by all of them.
final class RenderedMap: Sendable {
  private let parts: [SharedBytes]
  private let gzip: (middle: GzipMiddle, blocks: SharedBytes)
  private let zstd: (middle: ZstdMiddle, blocks: SharedBytes)

  /// Codes the map; takes about a second for 50 MB.
  init(_ map: ManifestMap) {
    var bytes: [[UInt8]] = []
    map.forEachPart { bytes.append($0) }
    parts = bytes.map(SharedBytes.init)
    let (deflated, deflatedBlocks) = GzipMiddle.code(bytes)
    gzip = (deflated, SharedBytes(deflatedBlocks))
    let (coded, codedBlocks) = ZstdMiddle.code(bytes)
    zstd = (coded, SharedBytes(codedBlocks))
  }

  /// The document that has the map in this frame, and the bytes of its gzip body.
  func document(in frame: DocumentFrame, tag: String) -> (document: CodedDocument, gzipCount: Int) {
    let gzip = Self.join(self.gzip.middle.around(frame.prefix, frame.suffix), self.gzip.blocks)
    let zstd = Self.join(self.zstd.middle.around(frame.prefix, frame.suffix), self.zstd.blocks)
    let identity = [SharedBytes(frame.prefix)] + parts + [SharedBytes(frame.suffix)]
    let gzipCount = gzip.reduce(0) { $0 + $1.count }
    // What stands around the map isn't compressed there: much of it, and gzip is the smaller one.
    let isSmaller = zstd.reduce(0) { $0 + $1.count } <= gzipCount + gzipCount / 4
    return (.json(identity, tag: tag, gzip: gzip, zstd: isSmaller ? zstd : nil), gzipCount)
  }

  private static func join(_ ends: (head: [UInt8], tail: [UInt8]), _ blocks: SharedBytes) -> [SharedBytes] {
    [SharedBytes(ends.head), blocks, SharedBytes(ends.tail)]
  }
}
