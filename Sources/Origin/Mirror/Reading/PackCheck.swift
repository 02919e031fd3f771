import Compression
import Manifests
import System

/// Checks a pack against the manifests that it joins: it must lead a device to the newest one.
///
/// The frames aren't decoded: `mirror.json` has the pack's hash, and its records say whose files they are.
struct PackCheck {
  let base: Manifest
  let newest: Manifest
  /// The size limit of a change list, in bytes.
  private static let limit: Int64 = 256 << 20

  /// Returns what is wrong with a pack, or nil.
  func fault(of bytes: [UInt8], digests: (base: SHA256, newest: SHA256)) -> String? {
    do {
      let (head, changes, records) = try read(bytes)
      guard head.base == base.version, head.version == newest.version, head.baseDigest == digests.base,
        head.digest == digests.newest
      else { return "the pack joins other manifests" }
      let arrivals = try arrivals(of: changes)
      guard try changes.applied(to: base, version: newest.version, digests: arrivals) == newest else {
        return "the pack doesn't lead to configure.json's manifest"
      }
      let wanted = changes.records.map { PackHead.check(arrivals[$0].sha256) }
      return records.map(\.check) == wanted ? nil : "the pack's files are others than configure.json names"
    } catch {
      return "the pack can't be read: \(error)"
    }
  }

  private func read(_ bytes: [UInt8]) throws -> (PackHead, PackChanges, [PackRecordHead]) {
    var parser = PackParser(limit: Self.limit)
    var head: PackHead?
    var changes: PackChanges?
    var records: [PackRecordHead] = []
    try parser.push(bytes.span.bytes) { part in
      switch part {
      case .head(let found): head = found
      case .changes(let coded): changes = try self.changes(coded, head)
      case .record(let record): records.append(record)
      case .payload, .recordEnd: break
      }
    }
    guard parser.isAtEnd, let head, let changes else { throw PackFault.damaged("it ends too early") }
    return (head, changes, records)
  }

  private func changes(_ coded: [UInt8], _ head: PackHead?) throws -> PackChanges {
    guard let head else { throw PackFault.damaged("it has no head") }
    var decoder = PackFrameDecoder(base: nil, limit: head.changes.plain)
    var plain: [UInt8] = []
    try decoder.push(coded.span.bytes) { bytes in bytes.withUnsafeBytes { plain.append(contentsOf: $0) } }
    try decoder.finish()
    guard PackHead.check(SHA256.of(plain)) == head.changesCheck else {
      throw PackFault.damaged("its change list has other bytes than its head says")
    }
    return try PackChanges(plain, head.format, version: head.version, base: base.items)
  }

  /// Returns the digest of each arrival: of a file that is left out as the pack says, else according to the newest manifest.
  private func arrivals(of changes: PackChanges) throws(PackFault) -> [FileDigest] {
    var digests: [FileDigest] = []
    for arrival in changes.arrivals {
      guard let entry = newest[arrival.url] else { throw .damaged("it brings what isn't listed") }
      let listed = FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size)
      digests.append(arrival.source.absentFile ?? listed)
    }
    return digests
  }
}
