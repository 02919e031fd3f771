/// An MD5 digest (RFC 1321): 16 bytes. Kept because clients in the field check it; trust rests on SHA-256.
package struct MD5: Hashable, Sendable, CustomStringConvertible {
  private let words: (UInt64, UInt64)

  /// The length of a digest, in bytes.
  package static let byteCount = 16

  /// Reads 16 bytes; nil for any other count.
  package init?(bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    func word(_ i: Int) -> UInt64 {
      UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: i * 8, as: UInt64.self))
    }
    words = (word(0), word(1))
  }

  /// Reads 32 lowercase hexadecimal digits; nil for anything else.
  package init?(hex: some StringProtocol) {
    let read = hex.utf8.withContiguousStorageIfAvailable { MD5(digits: $0) }
    guard let digest = read ?? Array(hex.utf8).withUnsafeBufferPointer({ MD5(digits: $0) }) else {
      return nil
    }
    self = digest
  }

  /// Reads 32 lowercase hexadecimal digits; nil for anything else.
  package init?(digits: UnsafeBufferPointer<UInt8>) {
    var words = (UInt64(0), UInt64(0))
    guard withUnsafeMutableBytes(of: &words, { Hex.decode(digits, into: $0) }) else { return nil }
    self.init(bigEndianWords: words)
  }

  private init(bigEndianWords words: (UInt64, UInt64)) {
    self.words = (words.0.bigEndian, words.1.bigEndian)
  }

  /// Returns the digest of `bytes`.
  package static func of(_ bytes: RawSpan) -> MD5 {
    var words = (UInt64(0), UInt64(0))
    withUnsafeMutableBytes(of: &words) { DigestContext.digest(bytes, .md5, into: $0) }
    return MD5(bigEndianWords: words)
  }

  /// Returns the digest of `bytes`.
  package static func of(_ bytes: [UInt8]) -> MD5 { of(bytes.span.bytes) }

  /// The digest as bytes.
  package var bytes: [UInt8] { withBytes { Array($0) } }

  /// The digest as 32 lowercase hexadecimal digits.
  package var hex: String { withBytes { Hex.encode($0.bytes) } }

  /// Appends the hexadecimal digits to `out`.
  package func appendHex(to out: inout [UInt8]) { withBytes { Hex.append($0.bytes, to: &out) } }

  /// Calls `body` with the digest's bytes.
  package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeBytes(of: (words.0.bigEndian, words.1.bigEndian), body)
  }

  package var description: String { hex }

  package static func == (a: MD5, b: MD5) -> Bool { a.words == b.words }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}
