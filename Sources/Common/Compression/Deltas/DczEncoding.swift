#if canImport(CZstd)
  import CZstd
  import System

  extension Dcz {
    /// The level at which candidates are compared; `bestLevel` is that of deltas that are kept.
    package static let fastLevel: Int32 = 3
    private static let bestLevel: Int32 = 19

    /// Encodes `target` over `base`; nil if the window that it needs is larger than decoders have to accept.
    ///
    /// - Parameters:
    ///   - target: the bytes to encode.
    ///   - base: the bytes of the base.
    ///   - baseSHA256: the digest of the base.
    ///   - level: the libzstd level, 1 (fast) to 19 (small); from 10 on with long-distance matching.
    package static func encode(_ target: [UInt8], base: [UInt8], baseSHA256: SHA256, level: Int32) -> [UInt8]?
    {
      guard target.count <= largestTarget(base: base.count) else { return nil }
      guard let frame = frame(target, base, Effort(level: level, isFarSighted: level >= 10)) else {
        return nil
      }
      return magic + baseSHA256.bytes + frame
    }

    /// Encodes at the best level; for small files, several strategies are tried and the smallest result is kept, since
    /// a delta is made once and fetched by many devices.
    package static func encodeWell(_ target: [UInt8], base: [UInt8], baseSHA256: SHA256) -> [UInt8]? {
      guard target.count <= largestTarget(base: base.count) else { return nil }
      let efforts = target.count + base.count <= smallPair ? Effort.several : [Effort.best]
      let frames = efforts.compactMap { frame(target, base, $0) }
      return frames.min { $0.count < $1.count }.map { magic + baseSHA256.bytes + $0 }
    }

    private static let smallPair = 256 << 10

    private struct Effort {
      var level: Int32
      /// Long-distance matching.
      var isFarSighted: Bool
      var strategy: ZSTD_strategy?

      static let best = Effort(level: bestLevel, isFarSighted: true)
      /// With only a handful of matches, the optimal parsers of high levels have to guess their costs; the lazy ones
      /// don't.
      static let several = [
        best, Effort(level: bestLevel, isFarSighted: false),
        Effort(level: bestLevel, isFarSighted: false, strategy: ZSTD_btlazy2),
        Effort(level: bestLevel, isFarSighted: false, strategy: ZSTD_lazy2),
      ]
    }

    /// Returns a frame without its content size, which packs don't need; for small files, the smallest of several
    /// strategies.
    static func packFrame(_ target: [UInt8], _ base: [UInt8], level: Int32?) -> [UInt8]? {
      guard target.count <= largestTarget(base: base.count) || base.isEmpty else { return nil }
      var efforts = target.count + base.count <= smallPair ? Effort.several : [Effort.best]
      if let level { efforts = [Effort(level: level, isFarSighted: level >= 4)] }
      return efforts.compactMap { frame(target, base, $0, hasSize: false) }.min { $0.count < $1.count }
    }

    private static func frame(_ target: [UInt8], _ base: [UInt8], _ effort: Effort, hasSize: Bool = true)
      -> [UInt8]?
    {
      guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
      defer { ZSTD_freeCCtx(context) }
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, effort.level)
      // "All dictionary bytes are accessible as long as no more than Window_Size bytes were output" (RFC 8878 §5):
      // the window holds the whole target, so the whole base serves to its end.
      let window = windowLog(target.count)
      ZSTD_CCtx_setParameter(
        context, ZSTD_c_windowLog, Int32(min(window, largestWindowLog(base: base.count))))
      if !hasSize { ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0) }
      if effort.isFarSighted { ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1) }
      if let strategy = effort.strategy {
        ZSTD_CCtx_setParameter(context, ZSTD_c_strategy, Int32(strategy.rawValue))
      }
      let bound = ZSTD_compressBound(target.count)
      var code = 0
      let frame = base.withUnsafeBytes { dictionary in
        target.withUnsafeBytes { source in
          [UInt8](unsafeUninitializedCapacity: bound) { room, written in
            ZSTD_CCtx_refPrefix(context, dictionary.baseAddress, dictionary.count)
            code = ZSTD_compress2(context, room.baseAddress, bound, source.baseAddress, source.count)
            written = ZSTD_isError(code) == 0 ? code : 0
          }
        }
      }
      // Out of memory: a file without a delta is fetched plain.
      return ZSTD_isError(code) == 0 ? frame : nil
    }
  }
#endif
