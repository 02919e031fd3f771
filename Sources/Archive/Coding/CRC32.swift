import CZlib

/// The checksum of ZIP's entries (APPNOTE.TXT 4.4.7).
struct CRC32 {
  private(set) var value: UInt32 = 0

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    let start = bytes.bindMemory(to: UInt8.self).baseAddress
    // A null pointer would ask zlib for the start value.
    guard let start else { return }
    value = UInt32(truncatingIfNeeded: crc32_z(UInt(value), start, bytes.count))
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var crc = CRC32()
    bytes.withUnsafeBytes { crc.update($0) }
    return crc.value
  }
}
