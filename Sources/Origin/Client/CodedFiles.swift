import Compression
import Glibc
import HTTP
import Platform
import Store

/// gzip and zstd bodies of compressible files, made when they are first asked for and kept under `derived/`.
///
/// Nothing here is needed to be kept: a file that is missing or that the disk has no room for is done without, or
/// made again.
struct CodedFiles: Sendable {
  private let store: Store
  /// `DATA/derived`.
  private let folder: String

  init(store: Store) {
    self.store = store
    folder = store.folder.path + "/derived"
  }

  struct Coded {
    let file: OpenFile
    /// Of the coded bytes.
    let sha256: SHA256
  }

  /// Sizes that are worth coding, and that fit in memory while they are coded.
  static let sizes: ClosedRange<Int64> = 512...(64 << 20)

  static let zstdLevel: Int32 = 9

  /// The coded body of a blob; nil where coding it isn't worth it or isn't possible.
  func file(_ sha256: SHA256, size: Int64, _ coding: BodyCoding) -> Coded? {
    guard Self.sizes.contains(size) else { return nil }
    let hex = sha256.hex
    let path = "\(folder)/\(hex.prefix(2))/\(hex.dropFirst(2)).\(coding.name)"
    return existing(path, largest: size) ?? made(sha256, path, coding).flatMap { existing(path, largest: $0) }
  }

  /// The tag carries the digest of the coded bytes, so they are read once when the file is opened.
  private func existing(_ path: String, largest: Int64) -> Coded? {
    guard let bytes = try? DurableFile.read(path, limit: Int(largest)), !bytes.isEmpty,
      let file = try? Kernel.open(path, O_RDONLY)
    else { return nil }
    return Coded(file: OpenFile(file, size: Int64(bytes.count)), sha256: SHA256.of(bytes))
  }

  /// Codes a blob; gives the size of the plain bytes, or nil where the coded ones aren't clearly smaller.
  private func made(_ sha256: SHA256, _ path: String, _ coding: BodyCoding) -> Int64? {
    guard let plain = try? DurableFile.read(store.folder.blob(sha256)) else { return nil }
    let bytes = coding == .gzip ? Gzip.encode([plain]) : Zstd.encode([plain], level: Self.zstdLevel)
    guard bytes.count < plain.count - plain.count / 20 else { return nil }
    do {
      try Kernel.makeFolder(DurableFile.parent(of: path))
      // Durable, though it could be made again: a power cut must not leave half of it under its name.
      try DurableFile.write(bytes, to: path)
      return Int64(plain.count)
    } catch {
      return nil
    }
  }
}
