import Manifests
import System
import Values

/// What a device saves of a pack during the download, so that an interrupted one resumes after the last file made. Saved
/// data is trusted no more than data from the network.
struct SavedPack: Equatable {
  /// A record that has been read.
  struct Record: Equatable {
    /// The position at which the next one begins.
    let end: Int64
    /// The digest of the file.
    let digest: FileDigest

    static let byteCount = 8 + 8 + MD5.byteCount + SHA256.byteCount
  }

  let pack: PackOffer
  let entityTag: String?
  /// Its head and its coded change list, as received.
  let beginning: [UInt8]
  var records: [Record] = []
}

extension SavedPack {
  /// Smaller packs are fetched from the start again.
  static let smallest: Int64 = 64 << 10

  /// One line of JSON, followed by the beginning of the pack.
  var bytes: [UInt8] {
    let line: JSONValue = [
      "download": .string(pack.download), "entityTag": entityTag.map { .string($0) } ?? .null,
      "size": .integer(pack.size),
    ]
    return line.canonical + [UInt8(ascii: "\n")] + beginning
  }

  /// Parses what was saved; nil if it is damaged.
  init?(_ bytes: [UInt8], records log: [UInt8]) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let line = try? JSONValue.parse(Array(bytes[..<end])), let download = line["download"]?.string,
      let size = line["size"]?.integer
    else { return nil }
    pack = PackOffer(download: download, size: size)
    entityTag = line["entityTag"]?.string
    beginning = Array(bytes[(end + 1)...])
    // The last one may be truncated.
    var start = 0
    while start + Record.byteCount <= log.count, let record = Record(log[start..<start + Record.byteCount]) {
      guard record.end <= size, record.end > records.last?.end ?? 0 else { break }
      records.append(record)
      start += Record.byteCount
    }
  }
}

extension SavedPack.Record {
  var bytes: [UInt8] {
    var out: [UInt8] = []
    Self.append(end, to: &out)
    Self.append(digest.size, to: &out)
    return out + digest.md5.bytes + digest.sha256.bytes
  }

  init?(_ bytes: ArraySlice<UInt8>) {
    let start = bytes.startIndex
    let md5 = Array(bytes[(start + 16)..<(start + 16 + MD5.byteCount)])
    let sha256 = Array(bytes[(start + 16 + MD5.byteCount)...])
    end = Self.number(bytes[start..<start + 8])
    let size = Self.number(bytes[(start + 8)..<(start + 16)])
    guard size >= 0, let md5 = MD5(bytes: md5.span.bytes), let sha256 = SHA256(bytes: sha256.span.bytes)
    else { return nil }
    digest = FileDigest(md5: md5, sha256: sha256, size: size)
  }

  /// Appends eight bytes, little-endian.
  private static func append(_ number: Int64, to out: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) { out.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    Int64(bitPattern: bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }
}

extension CacheFolder {
  private var pack: String { "\(staging)/pack" }
  private var packRecords: String { "\(staging)/pack-records" }

  /// Returns what an unfinished update saved of this pack; nil if it saved none, or another one.
  func savedPack(_ offer: PackOffer, limit: Int64) -> SavedPack? {
    let room = Int(clamping: limit.addingClamped(1 << 16))
    guard let bytes = try? DurableFile.read(pack, limit: room),
      let log = try? DurableFile.read(packRecords, limit: room) ?? [],
      let saved = SavedPack(bytes, records: log), saved.pack == offer
    else { return nil }
    return saved
  }

  /// Saves the beginning of a pack. A power cut may lose it, or lose the files: each is checked when it is used.
  func save(_ saved: SavedPack) throws(DeviceError) {
    try forgetPack()
    let part = incoming()
    try write(saved.bytes, toNew: part)
    try move(part, to: pack)
  }

  /// Saves a further record that was read.
  func save(_ record: SavedPack.Record) throws(DeviceError) {
    try willChange?()
    try onDisk(packRecords) { () throws(SystemError) in
      let file = try Kernel.open(packRecords, [.write, .create, .append, .noFollow])
      try Kernel.write(record.bytes.span.bytes, to: file, path: packRecords)
    }
  }

  /// Returns when a pack was last saved, in milliseconds; nil if none is.
  func packChanged() -> Int64? { (status(packRecords) ?? status(pack))?.modified }

  /// Removes the saved pack. The records go first, so that they never end up next to another pack.
  func forgetPack() throws(DeviceError) {
    for path in [packRecords, pack] where status(path) != nil { try remove(path) }
  }

  /// Writes a file that doesn't exist yet. A power cut may lose it.
  func write(_ bytes: [UInt8], toNew path: String) throws(DeviceError) {
    try willChange?()
    try onDisk(path) { () throws(SystemError) in
      let file = try Kernel.open(path, [.write, .create, .exclusive, .noFollow])
      try Kernel.write(bytes.span.bytes, to: file, path: path)
    }
  }
}
