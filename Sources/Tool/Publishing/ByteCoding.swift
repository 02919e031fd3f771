/// Encodes numbers and texts for the caches: little-endian, texts with a length prefix.
enum ByteCoding {
  static func append(_ word: UInt64, to out: inout [UInt8]) {
    withUnsafeBytes(of: word.littleEndian) { out.append(contentsOf: $0) }
  }

  static func append(_ text: String, to out: inout [UInt8]) {
    append(UInt64(text.utf8.count), to: &out)
    out.append(contentsOf: text.utf8)
  }

  @inline(__always)
  static func word(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
  }
}

/// Reads what `ByteCoding` wrote; each method returns nil if the bytes end early.
struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var at: Int

  init(_ bytes: UnsafeRawBufferPointer, at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  mutating func word() -> UInt64? {
    guard bytes.count - at >= 8 else { return nil }
    defer { at += 8 }
    return ByteCoding.word(bytes, at)
  }

  mutating func integer() -> Int64? { word().map { Int64(bitPattern: $0) } }

  mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, bytes.count - at >= count else { return nil }
    defer { at += count }
    return UnsafeRawBufferPointer(rebasing: bytes[at..<at + count])
  }

  mutating func text() -> String? {
    guard let count = word(), count <= UInt64(bytes.count), let part = take(Int(count)) else { return nil }
    return String(validating: part, as: UTF8.self)
  }

  var isAtEnd: Bool { at == bytes.count }
}
