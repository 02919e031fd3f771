import System

/// The frames of a pack: zstd (RFC 8878), without the magic number, over a file that the device holds or over nothing.
package enum PackFrame {
  static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// What a frame stands for, all of it in memory.
  /// - Parameter limit: bytes that it may stand for.
  /// - Throws: `damaged`, `overLimit`.
  package static func decode(_ frame: [UInt8], base: [UInt8]? = nil, limit: Int64) throws -> [UInt8] {
    var decoder = PackFrameDecoder(base: base, limit: limit)
    var decoded: [UInt8] = []
    try decoder.push(frame.span.bytes) { bytes in bytes.withUnsafeBytes { decoded.append(contentsOf: $0) } }
    try decoder.finish()
    return decoded
  }

  /// The frame of a delta in the `dcz` coding, as it is.
  package static func frame(ofDelta coded: [UInt8]) -> [UInt8]? {
    coded.count > Dcz.headerCount + magic.count ? Array(coded[(Dcz.headerCount + magic.count)...]) : nil
  }
}

#if canImport(CZstd)
  extension PackFrame {
    /// `target` over `base`, decoded again and compared; nil where the window that it needs is larger than devices take.
    ///
    /// - Parameter level: libzstd's; nil: of a few ways whatever is the smallest.
    package static func encode(_ target: [UInt8], base: [UInt8]? = nil, level: Int32? = nil) -> [UInt8]? {
      guard let frame = Dcz.packFrame(target, base ?? [], level: level) else { return nil }
      let bare = Array(frame.dropFirst(magic.count))
      let decoded = try? decode(bare, base: base, limit: Int64(target.count))
      return decoded == target ? bare : nil
    }
  }
#endif

/// Decodes a frame of a pack as its bytes arrive; beside the base it holds the frame's window.
package struct PackFrameDecoder: ~Copyable {
  private var decoder: ZstdStream

  /// - Parameters:
  ///   - base: what the frame is over.
  ///   - limit: bytes that it may stand for.
  package init(base: [UInt8]?, limit: Int64) {
    let base = base ?? []
    decoder = ZstdStream(
      base: base, windowLog: Dcz.largestWindowLog(base: base.count), limit: limit, frames: .one)
    // A magic number alone is the beginning of every frame.
    try? decoder.push(PackFrame.magic.span.bytes) { _ in }
  }

  /// Takes the next bytes, and gives what they stand for, piece by piece. Not to be called again once it threw.
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  package mutating func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    try decoder.push(bytes, give)
  }

  /// - Throws: `damaged` where the frame hasn't come to its end.
  package func finish() throws(CodingError) { try decoder.finish() }
}
