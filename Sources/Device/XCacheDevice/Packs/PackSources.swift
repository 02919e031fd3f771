import Manifests
import System

/// The files that a device has for a pack: bases of its records, and files that needn't be made from it.
struct PackSources: Sendable {
  /// Larger bases count as missing, since the base and the decoder's copy are both in memory.
  static let largestBase = 128 << 20

  /// The paths of files that can be bases.
  private let bases: [SHA256: String]
  /// The paths of files that needn't be made again, by the digest bytes that records contain.
  private let ready: [[UInt8]: (sha256: SHA256, path: String)]

  /// - Parameters:
  ///   - bases: files that are listed or set aside.
  ///   - ready: files that are staged or set aside.
  init(bases: [SHA256: String], ready: [SHA256: String]) {
    self.bases = bases
    self.ready = Dictionary(ready.map { (PackHead.check($0.key), (sha256: $0.key, path: $0.value)) }) { $1 }
  }

  /// Whether a file with this digest is staged or set aside, verified or not.
  func has(_ sha256: SHA256) -> Bool { ready[PackHead.check(sha256)] != nil }

  /// Whether a file with this digest is listed or set aside, verified or not.
  func isBase(_ sha256: SHA256) -> Bool { bases[sha256] != nil }

  /// The size of a base; 0 if it is missing.
  func size(ofBase sha256: SHA256, in folder: CacheFolder) -> Int64 {
    bases[sha256].flatMap { folder.status($0)?.size } ?? 0
  }

  /// The size of the file that a record needn't make; 0 if it has to.
  func size(ofReady record: PackRecordHead, in folder: CacheFolder) -> Int64 {
    ready[record.check].flatMap { folder.status($0.path)?.size } ?? 0
  }

  /// Returns the bytes of a base; nil if it is missing or damaged.
  func base(_ sha256: SHA256) -> [UInt8]? {
    guard let path = bases[sha256], let bytes = try? DurableFile.read(path, limit: Self.largestBase),
      SHA256.of(bytes) == sha256
    else { return nil }
    return bytes
  }

  /// Returns the digest of a record's file if the device already has it; the whole file is read to verify it.
  func file(_ record: PackRecordHead, in folder: CacheFolder) -> FileDigest? {
    guard let found = ready[record.check], let digest = folder.digest(found.path),
      digest.sha256 == found.sha256
    else { return nil }
    return digest
  }
}
