#if canImport(CZstd)
  import CZstd
  import Zstd

  /// libzstd's decoder and its output buffer.
  final class LibzstdDecoder: FrameDecoding {
    private let context: OpaquePointer
    /// A copy of the base, which libzstd reads in place; nil if the caller keeps the base alive.
    private let copy: UnsafeMutableRawBufferPointer?
    /// The output buffer, which is empty between two calls.
    private let room: UnsafeMutableRawBufferPointer
    private let frames: ZstdDecoder.Frames
    private(set) var isAtEnd = false

    convenience init(base: [UInt8], windowLog: Int, frames: ZstdDecoder.Frames) {
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: base.count, alignment: 16)
      copy.copyBytes(from: base)
      self.init(UnsafeRawBufferPointer(copy), copy: copy, windowLog: windowLog, frames: frames)
    }

    /// - Parameters:
    ///   - base: the base, which must stay valid as long as this decoder is used.
    ///   - windowLog: the logarithm of the maximum window.
    ///   - frames: which frames are accepted.
    convenience init(lent base: UnsafeRawBufferPointer, windowLog: Int, frames: ZstdDecoder.Frames) {
      self.init(base, copy: nil, windowLog: windowLog, frames: frames)
    }

    private init(
      _ base: UnsafeRawBufferPointer, copy: UnsafeMutableRawBufferPointer?, windowLog: Int,
      frames: ZstdDecoder.Frames
    ) {
      guard let context = ZSTD_createDCtx() else { fatalError("libzstd has no memory") }
      self.context = context
      self.copy = copy
      self.frames = frames
      room = .allocate(byteCount: ZSTD_DStreamOutSize(), alignment: 16)
      ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Int32(clamping: windowLog))
      ZSTD_DCtx_refPrefix(context, base.baseAddress, base.count)
    }

    deinit {
      ZSTD_freeDCtx(context)
      copy?.deallocate()
      room.deallocate()
    }

    func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
      var consumed = 0
      while true {
        if isAtEnd {
          if consumed == bytes.byteCount { return }
          guard frames == .all else { throw CodingError.damaged }
        }
        let (left, count) = bytes.withUnsafeBytes { source in
          var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: consumed)
          var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
          let left = ZSTD_decompressStream(context, &output, &input)
          consumed = input.pos
          return (left, output.pos)
        }
        guard ZSTD_isError(left) == 0 else { throw CodingError.damaged }
        isAtEnd = left == 0
        if count > 0 { try give(UnsafeRawBufferPointer(rebasing: room[..<count]).bytes) }
        // Output that doesn't fill the buffer is all that these bytes produce.
        if !isAtEnd, consumed == bytes.byteCount, count < room.count { return }
      }
    }
  }
#endif
