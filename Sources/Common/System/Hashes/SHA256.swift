/// A SHA-256 digest (FIPS 180-4): 32 bytes, compared and ordered byte by byte.
package struct SHA256: Hashable, Comparable, Sendable, CustomStringConvertible {
  // Big-endian words, so that their order is the order of the bytes.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// The length of a digest, in bytes.
  package static let byteCount = 32

  /// Reads 32 bytes; nil for any other count.
  package init?(bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    func word(_ i: Int) -> UInt64 {
      UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: i * 8, as: UInt64.self))
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Reads 64 lowercase hexadecimal digits; nil for anything else.
  package init?(hex: some StringProtocol) {
    let read = hex.utf8.withContiguousStorageIfAvailable { SHA256(digits: $0) }
    guard let digest = read ?? Array(hex.utf8).withUnsafeBufferPointer({ SHA256(digits: $0) }) else {
      return nil
    }
    self = digest
  }

  /// Reads 64 lowercase hexadecimal digits; nil for anything else.
  package init?(digits: UnsafeBufferPointer<UInt8>) {
    var words = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    guard withUnsafeMutableBytes(of: &words, { Hex.decode(digits, into: $0) }) else { return nil }
    self.init(bigEndianWords: words)
  }

  /// Returns the digest of `bytes`.
  package static func of(_ bytes: RawSpan) -> SHA256 {
    var words = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    withUnsafeMutableBytes(of: &words) { DigestContext.digest(bytes, .sha256, into: $0) }
    return SHA256(bigEndianWords: words)
  }

  private init(bigEndianWords words: (UInt64, UInt64, UInt64, UInt64)) {
    self.words = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
  }

  /// Returns the digest of `bytes`.
  package static func of(_ bytes: [UInt8]) -> SHA256 { of(bytes.span.bytes) }

  /// The digest as bytes.
  package var bytes: [UInt8] {
    withUnsafeBytes(of: bigEndianWords) { Array($0) }
  }

  /// The digest as 64 lowercase hexadecimal digits.
  package var hex: String {
    withUnsafeBytes(of: bigEndianWords) { Hex.encode($0.bytes) }
  }

  /// Appends the hexadecimal digits to `out`.
  package func appendHex(to out: inout [UInt8]) {
    withUnsafeBytes(of: bigEndianWords) { Hex.append($0.bytes, to: &out) }
  }

  /// Calls `body` with the digest's bytes.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeBytes(of: bigEndianWords, body)
  }

  package var description: String { hex }

  private var bigEndianWords: (UInt64, UInt64, UInt64, UInt64) {
    (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
  }

  package static func == (a: SHA256, b: SHA256) -> Bool { a.words == b.words }
  package static func < (a: SHA256, b: SHA256) -> Bool { a.words < b.words }

  package func hash(into hasher: inout Hasher) {
    // All words: a client that claims digests of bytes nobody has seen can choose any of their bits.
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
    hasher.combine(words.3)
  }
}
