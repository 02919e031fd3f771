#if canImport(CZstd)
  import CZstd

  extension Zstd {
    /// Encodes the concatenated pieces as one zstd frame; the same input gives the same bytes.
    ///
    /// - Parameters:
    ///   - pieces: the input.
    ///   - level: the libzstd level, 1 (fast) to 19 (small).
    package static func encode(_ pieces: [[UInt8]], level: Int32 = 3) -> [UInt8] {
      guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
      defer { ZSTD_freeCCtx(context) }
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
      ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
      // Lower levels choose a smaller window themselves; higher ones need this limit.
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

  /// The common middle of documents that differ only before and after it, compressed once: each document is assembled
  /// as one zstd frame (RFC 8878) without compressing the middle again.
  ///
  /// The rest is in raw blocks (§3.1.1.2), which leave the decoder's state as at the beginning of the frame: so the
  /// middle's blocks, made as if nothing preceded them, still decode to the same bytes.
  package struct ZstdMiddle: Sendable {
    /// The frame's Window_Descriptor (§3.1.1.1.2).
    private let window: UInt8
    private let count: Int

    /// Compresses the middle.
    ///
    /// - Parameters:
    ///   - count: the size of the middle in bytes, at least one.
    ///   - level: the libzstd level, 1 (fast) to 19 (small).
    ///   - feed: passes the pieces of the middle, in order, to the closure that it is given.
    /// - Returns: the middle, and its blocks, which go between head and tail.
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
      // The magic number, a descriptor without size, checksum and dictionary, and the window.
      guard bytes.count > 6, bytes[4] == 0 else {
        fatalError("libzstd wrote another frame header than it was asked for")
      }
      return (ZstdMiddle(window: bytes[5], count: count), Array(bytes[6...]))
    }

    /// Returns the bytes before and after the blocks, for a document of `prefix`, the middle and `suffix`.
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

    /// Block_Maximum_Size: the window's size, at most 128 KiB (§3.1.1.2.4).
    private var largestBlock: Int {
      let base = 1 << (10 + Int(window >> 3))
      return min(base + base / 8 * Int(window & 7), 128 << 10)
    }
  }
#endif
