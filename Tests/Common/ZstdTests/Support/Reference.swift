import CZstd

/// libzstd, as the reference that our decoder is compared with.
enum Reference {
  /// How a frame is made.
  struct Making: CustomStringConvertible {
    var level: Int32 = 3
    var hasChecksum = false
    var hasSize = true
    var windowLog: Int32 = 0
    var isFarSighted = false
    var dictionary: [UInt8] = []
    /// Bytes after which the encoder is flushed, which ends a block; 0: never.
    var flush = 0

    var description: String {
      "level \(level) checksum \(hasChecksum) size \(hasSize) window \(windowLog) far \(isFarSighted) "
        + "dictionary \(dictionary.count) flush \(flush)"
    }
  }

  static func encode(_ plain: [UInt8], _ making: Making = Making()) -> [UInt8] {
    guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, making.level)
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, making.hasChecksum ? 1 : 0)
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, making.hasSize ? 1 : 0)
    if making.windowLog > 0 { ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, making.windowLog) }
    if making.isFarSighted { ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1) }
    if making.flush == 0 { ZSTD_CCtx_setPledgedSrcSize(context, UInt64(plain.count)) }
    let blocks = making.flush == 0 ? 0 : plain.count / making.flush
    var coded = [UInt8](repeating: 0, count: ZSTD_compressBound(plain.count) + 16 * blocks)
    var written = 0
    making.dictionary.withUnsafeBytes { dictionary in
      ZSTD_CCtx_refPrefix(context, dictionary.baseAddress, dictionary.count)
      plain.withUnsafeBytes { source in
        coded.withUnsafeMutableBytes { target in
          var output = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
          var offset = 0
          while true {
            let count = making.flush == 0 ? source.count : min(source.count - offset, making.flush)
            let isLast = offset + count == source.count
            var input = ZSTD_inBuffer(src: source.baseAddress.map { $0 + offset }, size: count, pos: 0)
            let left = ZSTD_compressStream2(context, &output, &input, isLast ? ZSTD_e_end : ZSTD_e_flush)
            precondition(left == 0, "libzstd: \(String(cString: ZSTD_getErrorName(left)))")
            offset += count
            if isLast { break }
          }
          written = output.pos
        }
      }
    }
    return Array(coded[..<written])
  }

  /// What libzstd makes of frames, and whether they are whole and right.
  ///
  /// Its first byte comes alone: a frame that is there as a whole is decoded in another way, which doesn't look at the
  /// window's limit and gives nothing of what is damaged.
  static func decode(_ coded: [UInt8], dictionary: [UInt8] = [], windowLog: Int32, limit: Int)
    -> (bytes: [UInt8], isRight: Bool)
  {
    guard let context = ZSTD_createDCtx() else { fatalError("libzstd has no memory") }
    defer { ZSTD_freeDCtx(context) }
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, windowLog)
    var bytes: [UInt8] = []
    var left = 1
    var room = [UInt8](repeating: 0, count: 16 << 10)
    return dictionary.withUnsafeBytes { dictionary in
      ZSTD_DCtx_refPrefix(context, dictionary.baseAddress, dictionary.count)
      return coded.withUnsafeBytes { source in
        var offset = 0
        for end in [min(1, source.count), source.count] {
          while true {
            var input = ZSTD_inBuffer(src: source.baseAddress, size: end, pos: offset)
            let full = room.withUnsafeMutableBytes { target in
              var output = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
              left = ZSTD_decompressStream(context, &output, &input)
              bytes.append(contentsOf: target[..<output.pos])
              return output.pos == target.count
            }
            offset = input.pos
            if ZSTD_isError(left) != 0 || bytes.count > limit { return (bytes, false) }
            if offset == end, !full || left == 0 { break }
          }
        }
        return (bytes, left == 0)
      }
    }
  }
}
