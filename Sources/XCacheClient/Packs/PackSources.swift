import Manifests
import System

/// What a device has of the files that a pack is about: bases of its records, and files that needn't be made of it.
struct PackSources: Sendable {
  /// Larger bases are taken as missing: base and decoder's copy are in memory.
  static let largestBase = 128 << 20

  /// Where files are that can be bases.
  private let bases: [SHA256: String]
  /// Where files are that are neither listed nor needed anew, by the bytes of their digests that records have.
  private let ready: [[UInt8]: (sha256: SHA256, path: String)]

  /// - Parameters:
  ///   - bases: files that are listed or set aside.
  ///   - ready: files that are staged or set aside.
  init(bases: [SHA256: String], ready: [SHA256: String]) {
    self.bases = bases
    self.ready = Dictionary(ready.map { (PackHead.check($0.key), (sha256: $0.key, path: $0.value)) }) { $1 }
  }

  /// Whether a file with this digest is here, staged or set aside, right or not.
  func has(_ sha256: SHA256) -> Bool { ready[PackHead.check(sha256)] != nil }

  /// Whether a file with this digest is listed or set aside, right or not.
  func isBase(_ sha256: SHA256) -> Bool { bases[sha256] != nil }

  /// The bytes of a base; nil where there are none, or others.
  func base(_ sha256: SHA256) -> [UInt8]? {
    guard let path = bases[sha256], let bytes = try? DurableFile.read(path, limit: Self.largestBase),
      SHA256.of(bytes) == sha256
    else { return nil }
    return bytes
  }

  /// The file of a record, where the device has it already; it is read to the end.
  func file(_ record: PackRecordHead, in folder: CacheFolder) -> FileDigest? {
    guard let found = ready[record.check], let digest = folder.digest(found.path),
      digest.sha256 == found.sha256
    else { return nil }
    return digest
  }
}
