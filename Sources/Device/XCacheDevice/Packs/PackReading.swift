import Compression
import Manifests
import System

/// The state of a pack that is being read: its head, its changes, and the digests of the files so far.
struct PackReading {
  /// The base of a record: the bytes of an entry that the device holds, or nothing.
  struct RecordSource {
    let base: (sha256: SHA256, isRenamed: Bool)?
  }

  let head: PackHead
  private(set) var renaming = PackRenaming([])
  /// The digests of the records read, in order; nil for a record whose base is missing.
  var digests: [FileDigest?] = []
  private var changes = PackChanges(touched: [], arrivals: [])
  private var sources: [RecordSource] = []

  /// The maximum bytes of its entries in a resourcemap.
  private let limit: Int64

  init(_ head: PackHead, limit: Int64) {
    self.head = head
    self.limit = limit
  }

  /// Reads the change list.
  mutating func readChanges(_ coded: [UInt8], over held: DeviceIndex) throws {
    var decoder = PackFrameDecoder(base: nil, limit: head.changes.plain)
    var list: [UInt8] = []
    try decoder.push(coded.span.bytes) { piece in piece.withUnsafeBytes { list.append(contentsOf: $0) } }
    try decoder.finish()
    let base = held.manifest
    changes = try PackChanges(list, of: head, base: base, limit: limit)
    let items = base.items
    renaming = changes.renaming(old: changes.touched.map { items[$0] })
    sources = changes.arrivals.compactMap { arrival in
      guard case .record(let base, let isRenamed) = arrival.source else { return nil }
      return RecordSource(base: base.map { (items[$0].entry.sha256, isRenamed) })
    }
  }

  /// Returns the number of records whose base the device doesn't have.
  func missingBases(_ held: PackSources) -> Int {
    sources.count { source in source.base.map { !held.isBase($0.sha256) } ?? false }
  }

  /// The position of the first record.
  var firstRecord: Int64 { Int64(head.bytes.count) + head.changes.coded }

  /// The source of the next record.
  var nextSource: RecordSource { sources[digests.count] }

  /// Returns the manifest that the pack leads to.
  /// - Throws: `damaged`, if its digest isn't the one in the head.
  func index(over held: DeviceIndex) throws -> DeviceIndex {
    let base = held.manifest
    var bytes: [FileDigest] = []
    var records = digests.makeIterator()
    for arrival in changes.arrivals {
      switch arrival.source {
      case .record:
        guard case .some(.some(let digest)) = records.next() else {
          throw PackFault.damaged("it lacks a file")
        }
        bytes.append(digest)
      case .held(let index):
        let entry = base.items[index].entry
        bytes.append(FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size))
      case .arrival(let index): bytes.append(bytes[index])
      case .absent(let file): bytes.append(file)
      }
    }
    let manifest = try changes.applied(to: base, version: head.version, digests: bytes)
    guard manifest.map.digest == head.digest else {
      throw PackFault.damaged("its manifest has another digest")
    }
    return try DeviceIndex(manifest, digest: head.digest, hosts: held.hosts)
  }
}
