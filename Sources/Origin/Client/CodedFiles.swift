import Compression
import HTTP
import Platform
import Store

/// gzip and zstd bodies of compressible files, made when they are first asked for and kept under `derived/`.
///
/// Nothing here is needed to be kept: a file that is missing or that the disk has no room for is done without, or
/// made again.
struct CodedFiles: Sendable {
  let store: Store

  struct Coded {
    let file: OpenFile
    /// Of the coded bytes.
    let sha256: SHA256
  }

  /// Sizes that are worth coding, and that fit in memory while they are coded.
  static let sizes: ClosedRange<Int64> = 512...(64 << 20)

  static let zstdLevel: Int32 = 9

  /// The coded body of a blob; nil where coding it isn't worth it or isn't possible.
  /// - Throws: `corruptBlob` where the blob's own bytes turn out to be damaged.
  func file(_ sha256: SHA256, size: Int64, _ coding: BodyCoding) throws(StoreError) -> Coded? {
    guard Self.sizes.contains(size) else { return nil }
    let path = store.derived.file(sha256, "\(coding.name)")
    if let kept = existing(path) { return kept }
    guard let bytes = try coded(sha256, coding) else { return nil }
    // Without room for it on the disk it is done without.
    guard (try? store.derived.keepFile(bytes, at: path)) != nil else { return nil }
    return existing(path)
  }

  private func existing(_ path: String) -> Coded? {
    guard let kept = try? store.derived.openFile(path) else { return nil }
    let (size, sha256) = (kept.size, kept.sha256)
    return size > 0 ? Coded(file: OpenFile(kept.takeFile(), size: size), sha256: sha256) : nil
  }

  /// Codes a blob; nil where the coded bytes aren't clearly smaller.
  private func coded(_ sha256: SHA256, _ coding: BodyCoding) throws(StoreError) -> [UInt8]? {
    guard let plain = try? DurableFile.read(store.folder.blob(sha256)) else { return nil }
    guard SHA256.of(plain) == sha256 else {
      // Sets it aside, so that the plain body isn't served either.
      _ = try store.openChecked(sha256)
      return nil
    }
    let bytes = coding == .gzip ? Gzip.encode([plain]) : Zstd.encode([plain], level: Self.zstdLevel)
    return bytes.count < plain.count - plain.count / 20 ? bytes : nil
  }
}
