#if canImport(CZstd)
  import CZstd

  /// Encodes one frame of a pack, over no base, as its bytes come: in memory is what the level needs for the window.
  ///
  /// Not thread-safe.
  package final class PackFrameEncoder {
    private let context: OpaquePointer
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: ZSTD_CStreamOutSize(), alignment: 16)
    /// How many bytes of the magic number are still to be dropped.
    private var magicLeft = PackFrame.magic.count

    /// - Parameters:
    ///   - size: the number of bytes that will be encoded.
    ///   - level: the libzstd level, 1 (fast) to 19 (small).
    package init(size: Int64, level: Int32) {
      guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
      ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, Int32(Zstd.windowLog))
      ZSTD_CCtx_setPledgedSrcSize(context, UInt64(size))
      self.context = context
    }

    deinit {
      ZSTD_freeCCtx(context)
      room.deallocate()
    }

    /// Encodes the next bytes, and passes what comes of them to `give` in pieces.
    package func push<Failure: Error>(
      _ bytes: RawSpan, _ give: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
      try bytes.withUnsafeBytes { (source) throws(Failure) in
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
        while input.pos < input.size { _ = try step(&input, ZSTD_e_continue, give) }
      }
    }

    /// Ends the frame; as many bytes must have come as were announced.
    package func finish<Failure: Error>(_ give: (RawSpan) throws(Failure) -> Void) throws(Failure) {
      var input = ZSTD_inBuffer(src: nil, size: 0, pos: 0)
      while try step(&input, ZSTD_e_end, give) != 0 {}
    }

    private func step<Failure: Error>(
      _ input: inout ZSTD_inBuffer, _ mode: ZSTD_EndDirective, _ give: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) -> Int {
      var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
      let left = ZSTD_compressStream2(context, &output, &input, mode)
      if ZSTD_isError(left) != 0 { fatalError("libzstd: \(String(cString: ZSTD_getErrorName(left)))") }
      let start = min(magicLeft, output.pos)
      magicLeft -= start
      if output.pos > start { try give(UnsafeRawBufferPointer(rebasing: room[start..<output.pos]).bytes) }
      return left
    }
  }
#endif
