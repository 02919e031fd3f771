import System

/// The frames of a pack: zstd (RFC 8878) without the magic number, over a file that the device holds or over nothing.
package enum PackFrame {
  static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// Decodes a frame in memory.
  /// - Parameters:
  ///   - frame: the frame.
  ///   - base: the bytes that the frame is over; nil for none.
  ///   - limit: the maximum bytes of the result.
  /// - Throws: `damaged`, `overLimit`.
  package static func decode(_ frame: [UInt8], base: [UInt8]? = nil, limit: Int64) throws -> [UInt8] {
    var decoder = PackFrameDecoder(base: base, limit: limit)
    var decoded: [UInt8] = []
    try decoder.push(frame.span.bytes) { bytes in bytes.withUnsafeBytes { decoded.append(contentsOf: $0) } }
    try decoder.finish()
    return decoded
  }

  /// Returns the frame of a delta in the `dcz` coding, without recompressing it.
  package static func frame(ofDelta coded: [UInt8]) -> [UInt8]? {
    coded.count > Dcz.headerCount + magic.count ? Array(coded[(Dcz.headerCount + magic.count)...]) : nil
  }
}

#if canImport(CZstd)
  extension PackFrame {
    /// Encodes `target` over `base`, and verifies the frame by decoding it; nil if the window that it needs is larger
    /// than devices accept.
    ///
    /// - Parameters:
    ///   - target: the bytes to encode.
    ///   - base: the bytes to encode it over; nil for none.
    ///   - level: the libzstd level; nil for the smallest result of several strategies.
    package static func encode(_ target: [UInt8], base: [UInt8]? = nil, level: Int32? = nil) -> [UInt8]? {
      guard let frame = Dcz.packFrame(target, base ?? [], level: level) else { return nil }
      let bare = Array(frame.dropFirst(magic.count))
      let decoded = try? decode(bare, base: base, limit: Int64(target.count))
      return decoded == target ? bare : nil
    }
  }
#endif

/// Decodes a frame of a pack as its bytes arrive; in memory are the base and the frame's window.
package struct PackFrameDecoder: ~Copyable {
  private var decoder: ZstdStream

  /// - Parameters:
  ///   - base: the bytes that the frame is over; nil for none.
  ///   - limit: the maximum bytes of the result.
  package init(base: [UInt8]?, limit: Int64) {
    let base = base ?? []
    decoder = ZstdStream(
      base: base, windowLog: Dcz.largestWindowLog(base: base.count), limit: limit, frames: .one)
    // The magic number alone can't fail: every frame begins with it.
    try? decoder.push(PackFrame.magic.span.bytes) { _ in }
  }

  /// Decodes the next bytes, and passes the result to `give` in chunks. Must not be called again after it throws.
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  package mutating func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    try decoder.push(bytes, give)
  }

  /// Checks that the frame is complete.
  /// - Throws: `damaged`, if it isn't.
  package func finish() throws(CodingError) { try decoder.finish() }
}
