import System

/// The head of a pack (docs/protocol.md, "Packs"): the manifests that it leads from and to, and the length of its
/// change list.
package struct PackHead: Hashable, Sendable {
  /// What precedes the format's digit.
  private static let magic = Array("XPK".utf8)
  package static let magicCount = 4
  /// The number of leading bytes of a SHA-256 used as a check.
  package static let checkCount = 8
  /// The maximum length of a head in bytes.
  package static let longest = magicCount + 5 * Varint.longest + 2 * SHA256.byteCount + checkCount
  /// The maximum number of records in a pack.
  static let maxRecords = 1 << 24

  package let format: PackFormat
  package let base: ManifestVersion
  package let version: ManifestVersion
  /// The digest of the resourcemap that it starts from.
  package let baseDigest: SHA256
  /// The digest of the resourcemap that it leads to.
  package let digest: SHA256
  /// The number of files that follow the change list.
  package let records: Int
  /// The length of the change list in bytes, and of the zstd frame, without its magic number, in which it is sent.
  package let changes: (plain: Int64, coded: Int64)
  /// The first bytes of the change list's SHA-256.
  package let changesCheck: [UInt8]

  package init(
    _ format: PackFormat = .whole, base: ManifestVersion, version: ManifestVersion, baseDigest: SHA256,
    digest: SHA256, records: Int,
    plainChanges: [UInt8], codedChanges: Int
  ) {
    self.format = format
    self.base = base
    self.version = version
    self.baseDigest = baseDigest
    self.digest = digest
    self.records = records
    changes = (Int64(plainChanges.count), Int64(codedChanges))
    changesCheck = Self.check(SHA256.of(plainChanges))
  }

  /// Returns the first bytes of a digest, which detect damage early.
  package static func check(_ sha256: SHA256) -> [UInt8] { Array(sha256.bytes.prefix(checkCount)) }

  package var bytes: [UInt8] {
    var out = Self.magic + [format.rawValue]
    Varint.append(base.number, to: &out)
    Varint.append(version.number, to: &out)
    out += baseDigest.bytes
    out += digest.bytes
    Varint.append(records, to: &out)
    Varint.append(changes.plain, to: &out)
    Varint.append(changes.coded, to: &out)
    out += changesCheck
    return out
  }

  /// The format of a pack by its first `magicCount` bytes; nil if they aren't those of a pack.
  package static func format(_ bytes: [UInt8]) -> PackFormat? {
    guard bytes.count == magicCount, bytes.starts(with: magic) else { return nil }
    return PackFormat(rawValue: bytes[magic.count])
  }

  /// Parses the head at the start of `bytes`.
  /// - Returns: nil if there are too few bytes yet.
  static func read(_ bytes: [UInt8]) throws(PackFault) -> (head: PackHead, length: Int)? {
    guard magic.starts(with: bytes.prefix(magic.count)) else { throw .damaged("it doesn't begin as a pack") }
    guard bytes.count >= magicCount else { return nil }
    guard let format = PackFormat(rawValue: bytes[magic.count]) else {
      throw .damaged("it is a pack of another form")
    }
    var reader = VarintReader(bytes)
    do throws(PackFault) {
      return try read(format, &reader)
    } catch {
      if reader.hasRunOut { return nil }
      throw error
    }
  }

  private static func read(_ format: PackFormat, _ reader: inout VarintReader) throws(PackFault)
    -> (head: PackHead, length: Int)
  {
    _ = try reader.bytes(magicCount)
    let (base, version) = (try reader.number(), try reader.number())
    let digests = (try reader.bytes(SHA256.byteCount), try reader.bytes(SHA256.byteCount))
    let records = try reader.number(below: maxRecords + 1)
    let changes = (plain: try reader.number(), coded: try reader.number())
    let check = try reader.bytes(checkCount)
    guard base > 0, base < version, let baseDigest = SHA256(bytes: digests.0.span.bytes),
      let digest = SHA256(bytes: digests.1.span.bytes)
    else { throw .damaged("its versions aren't in order") }
    let head = PackHead(
      format, base: ManifestVersion(base), version: ManifestVersion(version), baseDigest: baseDigest,
      digest: digest,
      records: records, changes: changes, changesCheck: check)
    return (head, reader.index)
  }

  private init(
    _ format: PackFormat, base: ManifestVersion, version: ManifestVersion, baseDigest: SHA256, digest: SHA256,
    records: Int, changes: (plain: Int64, coded: Int64), changesCheck: [UInt8]
  ) {
    self.format = format
    self.base = base
    self.version = version
    self.baseDigest = baseDigest
    self.digest = digest
    self.records = records
    self.changes = changes
    self.changesCheck = changesCheck
  }

  package static func == (a: PackHead, b: PackHead) -> Bool { a.bytes == b.bytes }
  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// The head of each file in a pack.
package struct PackRecordHead: Hashable, Sendable {
  static let longest = Varint.longest + PackHead.checkCount

  /// The length in bytes of the zstd frame that follows, without its magic number.
  package let length: Int64
  /// The first bytes of the file's SHA-256.
  package let check: [UInt8]

  package init(length: Int, sha256: SHA256) {
    self.length = Int64(length)
    check = PackHead.check(sha256)
  }

  package var bytes: [UInt8] {
    var out: [UInt8] = []
    Varint.append(length, to: &out)
    return out + check
  }

  /// Parses the head at the start of `bytes`.
  /// - Returns: nil if there are too few bytes yet.
  static func read(_ bytes: [UInt8]) throws(PackFault) -> (head: PackRecordHead, length: Int)? {
    var reader = VarintReader(bytes)
    do throws(PackFault) {
      let length = try reader.number()
      let check = try reader.bytes(PackHead.checkCount)
      return (PackRecordHead(length: length, check: check), reader.index)
    } catch {
      if reader.hasRunOut { return nil }
      throw error
    }
  }

  private init(length: Int64, check: [UInt8]) {
    self.length = length
    self.check = check
  }
}
