import CZstd

/// The zstd coding (RFC 8878) by libzstd.
package enum Zstd {
  /// RFC 9659: a decoder need not accept a window of more than 8 MiB in the `zstd` content coding.
  private static let windowLog: Int32 = 23

  /// The input pieces, one after another, as one zstd frame; the same input gives the same bytes.
  ///
  /// - Parameter level: libzstd's, 1 (fast) to 19 (small).
  package static func encode(_ pieces: [[UInt8]], level: Int32 = 3) -> [UInt8] {
    guard let context = ZSTD_createCCtx() else { fatalError("libzstd has no memory") }
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    // Below this the level's own choice is smaller already; above it the limit holds the window down.
    if level >= 17 { ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, windowLog) }
    ZSTD_CCtx_setPledgedSrcSize(context, UInt64(pieces.reduce(0) { $0 + $1.count }))
    var output = OutputBuffer()
    for piece in pieces { pump(context, piece, ZSTD_e_continue, &output) }
    pump(context, [], ZSTD_e_end, &output)
    return output.bytes
  }

  /// The bytes that `coded` stands for.
  ///
  /// - Parameter limit: bytes that the result may have at most.
  /// - Throws: `damaged`, `overLimit`.
  package static func decode(_ coded: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
    guard let context = ZSTD_createDCtx() else { fatalError("libzstd has no memory") }
    defer { ZSTD_freeDCtx(context) }
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, windowLog)
    return try decode(coded, from: 0, with: context, limit: limit)
  }

  /// The bytes that the frame in `coded`, which begins at `start`, stands for.
  static func decode(_ coded: [UInt8], from start: Int, with context: OpaquePointer, limit: Int)
    throws(CodingError) -> [UInt8]
  {
    var output = OutputBuffer()
    var consumed = start
    var left = 1
    while left != 0, output.count <= limit {
      let before = (consumed, output.count)
      left = coded.withUnsafeBytes { source in
        output.fill { next, room in
          var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: consumed)
          var target = ZSTD_outBuffer(dst: next, size: room, pos: 0)
          let left = ZSTD_decompressStream(context, &target, &input)
          consumed = input.pos
          return (left, target.pos)
        }
      }
      if ZSTD_isError(left) != 0 || (left != 0 && before == (consumed, output.count)) { throw .damaged }
    }
    if output.count > limit { throw .overLimit }
    guard consumed == coded.count else { throw .damaged }
    return output.bytes
  }

  static func pump(
    _ context: OpaquePointer, _ piece: [UInt8], _ mode: ZSTD_EndDirective, _ output: inout OutputBuffer
  ) {
    var consumed = 0
    var left = 1
    while mode == ZSTD_e_continue ? consumed < piece.count : left != 0 {
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
