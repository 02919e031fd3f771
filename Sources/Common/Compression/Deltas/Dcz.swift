import System

/// The `dcz` coding (RFC 9842 §5): a file as a zstd frame over another file, which the decoder already has.
package enum Dcz {
  /// "0x5e, 0x2a, 0x4d, 0x18, 0x20, 0x00, 0x00, 0x00" and the SHA-256 of the dictionary, before the frame.
  package static let headerCount = magic.count + SHA256.byteCount
  static let magic: [UInt8] = [0x5e, 0x2a, 0x4d, 0x18, 0x20, 0x00, 0x00, 0x00]

  /// Returns the largest window that every decoder of `dcz` accepts, and so the largest file that can have a
  /// delta over a base.
  ///
  /// RFC 9842 §5: 8 MB or 1.25 times the size of the dictionary, whichever is greater, up to 128 MB.
  package static func largestTarget(base: Int) -> Int {
    min(max(8 << 20, base + base / 4), 128 << 20)
  }

  /// Decodes `coded` over `base`.
  ///
  /// - Parameters:
  ///   - coded: the delta.
  ///   - base: the bytes of the base.
  ///   - baseSHA256: the digest of the base.
  ///   - limit: the maximum bytes of the result.
  /// - Throws: `otherBase`, `damaged`, `overLimit`.
  package static func decode(_ coded: [UInt8], base: [UInt8], baseSHA256: SHA256, limit: Int)
    throws(CodingError)
    -> [UInt8]
  {
    guard coded.count > headerCount, coded.starts(with: magic) else { throw .damaged }
    guard coded[magic.count..<headerCount].elementsEqual(baseSHA256.bytes) else { throw .otherBase }
    return try ZstdStream.decode(
      coded.span.extracting(droppingFirst: headerCount).bytes, base: base,
      windowLog: largestWindowLog(base: base.count), limit: limit, frames: .one)
  }

  /// Returns the largest window that is accepted for a frame over `base` bytes.
  static func largestWindowLog(base: Int) -> Int { windowLog(largestTarget(base: base)) }

  /// Returns the logarithm of the smallest window that holds `count` bytes: "ZSTD_WINDOWLOG_MIN 10".
  static func windowLog(_ count: Int) -> Int {
    max(10, Int.bitWidth - max(0, count - 1).leadingZeroBitCount)
  }
}
