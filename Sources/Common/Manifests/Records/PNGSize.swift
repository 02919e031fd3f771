/// The size of a PNG image in pixels, as its head says.
package struct PNGSize: Hashable, Sendable {
  /// The bytes of a file from which `init(head:)` reads: the signature and the chunk IHDR (PNG specification §5.2, §11.2.2).
  package static let headBytes = 24
  /// The signature of PNG files (PNG specification §5.2).
  private static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
  /// What follows it: a chunk of 13 bytes named IHDR.
  private static let chunk: [UInt8] = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]

  /// In pixels.
  package let width: Int
  package let height: Int

  /// Reads the beginning of a file; nil if it isn't a PNG's, or says that it has no pixels.
  package init?(head: [UInt8]) {
    guard head.count >= Self.headBytes, head.starts(with: Self.signature + Self.chunk) else { return nil }
    func number(at offset: Int) -> Int { head[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    (width, height) = (number(at: 16), number(at: 20))
    if width == 0 || height == 0 { return nil }
  }
}
