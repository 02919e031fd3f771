import Compression
import HTTP
import Manifests
import Platform
import Store

/// The whole manifest of a version, coded once.
struct WholeManifest: Sendable {
  let document: CodedDocument
  /// What it says beside the manifest.
  let extras: AnswerExtras
  /// Bytes of the gzip body, which a patch has to beat.
  let gzipCount: Int

  /// Codes the manifest; takes about a second for 50 MB.
  ///
  /// - Parameter base: for devices that are at this version and understand patches, but for which the whole is
  ///   smaller.
  init(_ channel: ChannelInfo, _ map: ManifestMap, _ extras: AnswerExtras, base: DocumentBase? = nil) {
    let digest = channel.digest ?? map.digest
    let frame = Documents.whole(channel.version, digest: digest, base: base, extras: extras)
    var parts = [frame.prefix]
    map.forEachPart { parts.append($0) }
    parts.append(frame.suffix)
    let gzip = Gzip.encode(parts)
    gzipCount = gzip.count
    self.extras = extras
    let from = base.map { "\($0.version)-\(SHA256.of($0.deltas).hex.prefix(8))-" } ?? ""
    let tag = "\(digest.hex.prefix(32))-\(from)\(channel.version)\(extras.tag)"
    document = .json(parts.map(SharedBytes.init), tag: tag, gzip: gzip, zstd: Zstd.encode(parts))
  }
}

extension AnswerExtras {
  /// What an entity tag has of them: answers that differ in them alone are different bytes.
  fileprivate var tag: String {
    let parts = [policy.map { "p\($0)" }, prefetch.map { "c\($0)" }, interval.map { "i\($0)" }]
    return parts.compactMap { $0 }.map { "-\($0)" }.joined()
  }
}
