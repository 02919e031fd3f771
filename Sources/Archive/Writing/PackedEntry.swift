/// An entry's bytes as they stand in an archive.
struct PackedEntry: Sendable {
  let bytes: [UInt8]
  let crc: UInt32
}

/// Packs small entries, one after another, with memory of its own.
struct Packer: ~Copyable {
  private let deflater = Deflater()

  init() {}

  func pack(_ input: ArchiveInput) throws(ArchiveError) -> PackedEntry {
    let bytes = try input.opened().bytes(at: 0, count: Int(input.size))
    guard bytes.count == Int(input.size) else { throw .wrongSize(input.name) }
    let crc = CRC32.of(bytes)
    switch input.method {
    case .stored: return PackedEntry(bytes: bytes, crc: crc)
    case .deflate: return PackedEntry(bytes: bytes.withUnsafeBytes { deflater.pack($0) }, crc: crc)
    }
  }
}
