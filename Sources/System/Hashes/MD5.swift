/// An MD5 digest (RFC 1321): 16 bytes. Kept because clients in the field check it; trust rests on SHA-256.
package struct MD5: Hashable, Sendable, CustomStringConvertible {
  private let words: (UInt64, UInt64)

  /// Bytes of a digest.
  package static let byteCount = 16

  /// Reads 16 bytes; nil for any other count.
  package init?(bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    func word(_ i: Int) -> UInt64 {
      UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: i * 8, as: UInt64.self))
    }
    words = (word(0), word(1))
  }

  /// Reads 32 lower-case hexadecimal digits; nil for anything else.
  package init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes.span.bytes)
  }

  /// Reads 32 lower-case hexadecimal digits; nil for anything else.
  package init?(digits: UnsafeBufferPointer<UInt8>) {
    guard let bytes = Hex.decode(digits, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes.span.bytes)
  }

  /// The digest of `bytes`.
  package static func of(_ bytes: [UInt8]) -> MD5 {
    var hasher = FileHasher()
    hasher.update(bytes.span.bytes)
    return hasher.finish().md5
  }

  /// The digest as bytes.
  package var bytes: [UInt8] {
    withUnsafeBytes(of: (words.0.bigEndian, words.1.bigEndian)) { Array($0) }
  }

  /// The digest as 32 lower-case hexadecimal digits.
  package var hex: String {
    bytes.withUnsafeBytes { Hex.encode($0.bytes) }
  }

  package var description: String { hex }

  package static func == (a: MD5, b: MD5) -> Bool { a.words == b.words }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}
