#if canImport(CZstd)
  import CZstd

  extension Zstd {
    /// The input pieces, one after another, as one zstd frame; the same input gives the same bytes.
    ///
    /// - Parameter level: libzstd's, 1 (fast) to 19 (small).
    package static func encode(_ pieces: [[UInt8]], level: Int32 = 3) -> [UInt8] {
      guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
      defer { ZSTD_freeCCtx(context) }
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
      ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
      // Below this the level's own choice is smaller already; above it the limit holds the window down.
      if level >= 17 { ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, Int32(windowLog)) }
      ZSTD_CCtx_setPledgedSrcSize(context, UInt64(pieces.reduce(0) { $0 + $1.count }))
      var output = OutputBuffer()
      for piece in pieces { pump(context, piece.span.bytes, ZSTD_e_continue, &output) }
      pump(context, RawSpan(), ZSTD_e_end, &output)
      return output.bytes
    }

    static func pump(
      _ context: OpaquePointer, _ piece: RawSpan, _ mode: ZSTD_EndDirective, _ output: inout OutputBuffer
    ) {
      var consumed = 0
      var left = 1
      while mode == ZSTD_e_continue ? consumed < piece.byteCount : left != 0 {
        left = piece.withUnsafeBytes { source in
          output.fill { next, room in
            var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: consumed)
            var target = ZSTD_outBuffer(dst: next, size: room, pos: 0)
            let left = ZSTD_compressStream2(context, &target, &input, mode)
            consumed = input.pos
            return (left, target.pos)
          }
        }
        if ZSTD_isError(left) != 0 { fatalError("libzstd: \(String(cString: ZSTD_getErrorName(left)))") }
      }
    }
  }

  /// The middle of documents that differ only around it, coded once: each of them is put together as one zstd frame
  /// (RFC 8878) without coding the middle again.
  ///
  /// What stands around it is in raw blocks (§3.1.1.2), which leave the state of the decoder as it was at the frame's
  /// beginning: so the middle's blocks, made as if nothing stood before them, mean the same.
  package struct ZstdMiddle: Sendable {
    /// The frame's Window_Descriptor (§3.1.1.1.2).
    private let window: UInt8
    private let count: Int

    /// Codes the middle.
    ///
    /// - Parameters:
    ///   - count: its bytes, one at least.
    ///   - feed: hands its pieces, in order, to what it is given.
    /// - Returns: also the blocks, which go between head and tail.
    package static func code(count: Int, level: Int32 = 3, _ feed: ((RawSpan) -> Void) -> Void) -> (
      middle: ZstdMiddle, blocks: [UInt8]
    ) {
      guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
      defer { ZSTD_freeCCtx(context) }
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
      ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0)
      ZSTD_CCtx_setPledgedSrcSize(context, UInt64(count))
      var output = OutputBuffer()
      feed { Zstd.pump(context, $0, ZSTD_e_continue, &output) }
      Zstd.pump(context, RawSpan(), ZSTD_e_flush, &output)
      let bytes = output.bytes
      // Magic number, a descriptor that says no size, no checksum and no dictionary, and the window.
      guard bytes.count > 6, bytes[4] == 0 else {
        fatalError("libzstd wrote another frame header than it was asked for")
      }
      return (ZstdMiddle(window: bytes[5], count: count), Array(bytes[6...]))
    }

    /// What stands in front of the blocks and behind them, where the middle is between these two.
    package func around(_ prefix: [UInt8], _ suffix: [UInt8]) -> (head: [UInt8], tail: [UInt8]) {
      // Frame_Content_Size has eight bytes.
      var head: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0xC0, window]
      let size = UInt64(prefix.count + count + suffix.count)
      for shift in stride(from: 0, to: 64, by: 8) {
        head.append(UInt8(truncatingIfNeeded: size >> UInt64(shift)))
      }
      appendRaw(prefix, isLast: false, to: &head)
      var tail: [UInt8] = []
      appendRaw(suffix, isLast: true, to: &tail)
      return (head, tail)
    }

    private func appendRaw(_ bytes: [UInt8], isLast: Bool, to out: inout [UInt8]) {
      var start = 0
      repeat {
        let end = min(start + largestBlock, bytes.count)
        let header = (end - start) << 3 | (isLast && end == bytes.count ? 1 : 0)
        for shift in [0, 8, 16] { out.append(UInt8(truncatingIfNeeded: header >> shift)) }
        out += bytes[start..<end]
        start = end
      } while start < bytes.count
    }

    /// Block_Maximum_Size: the window's, at most 128 KiB (§3.1.1.2.4).
    private var largestBlock: Int {
      let base = 1 << (10 + Int(window >> 3))
      return min(base + base / 8 * Int(window & 7), 128 << 10)
    }
  }
#endif
