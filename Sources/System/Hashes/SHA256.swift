/// A SHA-256 digest (FIPS 180-4): 32 bytes, compared and ordered byte by byte.
package struct SHA256: Hashable, Comparable, Sendable, CustomStringConvertible {
  // Big-endian words, so that their order is the order of the bytes.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// Bytes of a digest.
  package static let byteCount = 32

  /// Reads 32 bytes; nil for any other count.
  package init?(bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    func word(_ i: Int) -> UInt64 {
      UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: i * 8, as: UInt64.self))
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Reads 64 lower-case hexadecimal digits; nil for anything else.
  package init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes.span.bytes)
  }

  /// Reads 64 lower-case hexadecimal digits; nil for anything else.
  package init?(digits: UnsafeBufferPointer<UInt8>) {
    guard let bytes = Hex.decode(digits, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes.span.bytes)
  }

  /// The digest of `bytes`.
  package static func of(_ bytes: RawSpan) -> SHA256 {
    var hasher = SHA256Hasher()
    hasher.update(bytes)
    return hasher.finish()
  }

  /// The digest of `bytes`.
  package static func of(_ bytes: [UInt8]) -> SHA256 { of(bytes.span.bytes) }

  /// The digest as bytes.
  package var bytes: [UInt8] {
    withUnsafeBytes(of: bigEndianWords) { Array($0) }
  }

  /// The digest as 64 lower-case hexadecimal digits.
  package var hex: String {
    bytes.withUnsafeBytes { Hex.encode($0.bytes) }
  }

  package var description: String { hex }

  private var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) {
    (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
  }

  package static func == (a: SHA256, b: SHA256) -> Bool { a.words == b.words }
  package static func < (a: SHA256, b: SHA256) -> Bool { a.words < b.words }

  package func hash(into hasher: inout Hasher) {
    // All of it: who claims digests of bytes that nobody has seen chooses their bits.
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
    hasher.combine(words.3)
  }
}
