import Compression
import System

@testable import Manifests
@testable import Values

/// A minimal device: it reads a pack in pieces, keeps everything in memory, and verifies everything.
final class PackDevice {
  private let base: Manifest
  private let baseDigest: SHA256
  private let held: [SHA256: [UInt8]]
  private var parser: PackParser
  private var head: PackHead?
  private var changes: PackChanges?
  private var renaming = PackRenaming([])
  private var decoder: PackFrameDecoder?
  private var check: [UInt8] = []
  private var file: [UInt8] = []
  /// The files of the records so far.
  private(set) var records: [[UInt8]] = []
  /// Where the next record begins.
  private(set) var offset: Int64 = 0
  /// The size of the largest piece of a file.
  private(set) var largestPiece = 0

  private let limit: Int64
  private let expected: Expected?

  /// The result of the pack according to the answer that offered it.
  struct Expected {
    let version: ManifestVersion
    let digest: SHA256
  }

  /// - Parameter limit: the most bytes of the change list, and of each file.
  init(_ base: Manifest, held: [SHA256: [UInt8]], limit: Int64 = 1 << 20, expecting expected: Expected? = nil)
  {
    self.base = base
    self.expected = expected
    self.held = held
    self.limit = limit
    baseDigest = base.map.digest
    parser = PackParser(limit: limit)
  }

  /// Resumes where another device stopped.
  init(after other: PackDevice, records count: Int, at offset: Int64) throws {
    guard let head = other.head else { throw PackFault.damaged("there is no head") }
    (base, baseDigest, held, limit) = (other.base, other.baseDigest, other.held, other.limit)
    expected = other.expected
    (self.head, changes, renaming) = (head, other.changes, other.renaming)
    records = Array(other.records.prefix(count))
    parser = PackParser(resuming: head, recordsTaken: count, at: offset)
  }

  func take(_ bytes: ArraySlice<UInt8>) throws {
    let bytes = Array(bytes)
    try parser.push(bytes.span.bytes) { part in
      switch part {
      case .head(let head):
        guard head.base == base.version, head.baseDigest == baseDigest,
          head.version == expected?.version ?? head.version,
          head.digest == expected?.digest ?? head.digest
        else { throw PackFault.otherManifest }
        self.head = head
      case .changes(let coded): try read(coded)
      case .record(let record):
        check = record.check
        file = []
        decoder = PackFrameDecoder(base: try frameBase(), limit: limit)
      case .payload(let bytes):
        try decoder?.push(bytes) { piece in
          largestPiece = max(largestPiece, piece.byteCount)
          piece.withUnsafeBytes { file.append(contentsOf: $0) }
        }
      case .recordEnd:
        try decoder?.finish()
        guard PackHead.check(SHA256.of(file)) == check else { throw PackFault.damaged("a file is another") }
        records.append(file)
      }
    }
    offset = parser.offset
  }

  private func read(_ coded: [UInt8]) throws {
    guard let head else { throw PackFault.damaged("there is no head") }
    let list = try PackChanges(
      try PackFrame.decode(coded, limit: head.changes.plain), of: head, base: base, limit: limit)
    renaming = list.renaming(old: list.touched.map { base.items[$0] })
    changes = list
  }

  private func frameBase() throws -> [UInt8]? {
    guard let changes,
      case .record(let base?, let isRenamed) = changes.arrivals[changes.records[records.count]].source
    else { return nil }
    guard let old = held[self.base.items[base].entry.sha256] else {
      throw PackFault.damaged("a base isn't held")
    }
    return isRenamed ? renaming.applied(to: old) ?? old : old
  }

  /// The resulting manifest, and the files of its arrivals.
  func finish() throws -> (manifest: Manifest, files: [ResourceURL: [UInt8]]) {
    guard parser.isAtEnd, let head, let changes else { throw PackFault.damaged("it ends too early") }
    var files: [[UInt8]] = []
    var next = records.makeIterator()
    for arrival in changes.arrivals {
      switch arrival.source {
      case .record: files.append(next.next() ?? [])
      case .held(let index):
        guard let file = held[base.items[index].entry.sha256] else {
          throw PackFault.damaged("a file isn't held")
        }
        files.append(file)
      case .arrival(let index): files.append(files[index])
      case .absent: files.append([])
      }
    }
    let digests = zip(changes.arrivals, files).map { $0.source.absentFile ?? PackSample.digest(of: $1) }
    let manifest = try changes.applied(to: base, version: head.version, digests: digests)
    guard manifest.map.digest == head.digest else { throw PackFault.damaged("it leads to another manifest") }
    let arrived = zip(changes.arrivals, files).filter { $0.0.source.absentFile == nil }
    return (manifest, Dictionary(uniqueKeysWithValues: arrived.map { ($0.0.url, $0.1) }))
  }

  /// Runs an update with a pack in pieces of `count` bytes.
  static func update(
    _ pack: [UInt8], from base: Manifest, held: [SHA256: [UInt8]], pieces count: Int = .max,
    limit: Int64 = 1 << 20, expecting expected: Expected? = nil
  ) throws -> (manifest: Manifest, files: [ResourceURL: [UInt8]]) {
    let device = PackDevice(base, held: held, limit: limit, expecting: expected)
    var rest = pack[...]
    while !rest.isEmpty {
      try device.take(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return try device.finish()
  }
}
