import CZstd

/// The frames of a pack: zstd (RFC 8878), without the magic number, over a file that the device holds or over nothing.
package enum PackFrame {
  static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// `target` over `base`, decoded again and compared; nil where the window that it needs is larger than devices take.
  ///
  /// - Parameter level: libzstd's; nil: of a few ways whatever is the smallest.
  package static func encode(_ target: [UInt8], base: [UInt8]? = nil, level: Int32? = nil) -> [UInt8]? {
    guard let frame = Dcz.packFrame(target, base ?? [], level: level) else { return nil }
    let bare = Array(frame.dropFirst(magic.count))
    let decoded = try? decode(bare, base: base, limit: Int64(target.count))
    return decoded == target ? bare : nil
  }

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

/// Decodes a frame of a pack as its bytes arrive; beside the base it holds the frame's window.
package struct PackFrameDecoder: ~Copyable {
  private let context: OpaquePointer
  /// A copy of its own, which libzstd reads where it lies.
  private let base: UnsafeMutableRawBufferPointer
  /// Where libzstd writes; it holds nothing between two calls.
  private let room: UnsafeMutableRawBufferPointer
  private let limit: Int64
  private var written: Int64 = 0
  private var isWhole = false

  /// - Parameters:
  ///   - base: what the frame is over.
  ///   - limit: bytes that it may stand for.
  package init(base: [UInt8]?, limit: Int64) {
    guard let context = ZSTD_createDCtx() else { fatalError("libzstd has no memory") }
    self.context = context
    let base = base ?? []
    self.base = .allocate(byteCount: base.count, alignment: 16)
    self.base.copyBytes(from: base)
    room = .allocate(byteCount: ZSTD_DStreamOutSize(), alignment: 16)
    self.limit = limit
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Dcz.largestWindowLog(base: base.count))
    ZSTD_DCtx_refPrefix(context, self.base.baseAddress, self.base.count)
    // A magic number alone is the beginning of every frame.
    try? decode(PackFrame.magic.span.bytes) { _ in }
  }

  deinit {
    ZSTD_freeDCtx(context)
    base.deallocate()
    room.deallocate()
  }

  /// Takes the next bytes, and gives what they stand for, piece by piece. Not to be called again once it threw.
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  package mutating func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    try decode(bytes, give)
  }

  /// - Throws: `damaged` where the frame hasn't come to its end.
  package func finish() throws(CodingError) {
    guard isWhole else { throw .damaged }
  }

  private mutating func decode(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    var consumed = 0
    while true {
      if isWhole {
        guard consumed == bytes.byteCount else { throw CodingError.damaged }
        return
      }
      let (left, count) = bytes.withUnsafeBytes { source in
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: consumed)
        var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
        let left = ZSTD_decompressStream(context, &output, &input)
        consumed = input.pos
        return (left, output.pos)
      }
      guard ZSTD_isError(left) == 0 else { throw CodingError.damaged }
      isWhole = left == 0
      written += Int64(count)
      guard written <= limit else { throw CodingError.overLimit }
      if count > 0 { try give(UnsafeRawBufferPointer(rebasing: room[..<count]).bytes) }
      // What was given less than there is room for is all that these bytes stand for.
      if !isWhole, consumed == bytes.byteCount, count < room.count { return }
    }
  }
}
