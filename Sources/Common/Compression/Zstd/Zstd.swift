import System

/// The zstd coding (RFC 8878): libzstd encodes, and either it or `ZstdDecoder` decodes.
package enum Zstd {
  /// RFC 9659: a decoder need not accept a window of more than 8 MiB in the `zstd` content coding.
  static let windowLog = 23

  /// Decodes `coded`, one or more frames.
  ///
  /// - Parameters:
  ///   - coded: the frames.
  ///   - limit: the maximum bytes of the result.
  /// - Throws: `damaged`, `overLimit`.
  package static func decode(_ coded: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
    try ZstdStream.decode(coded.span.bytes, windowLog: windowLog, limit: limit)
  }
}
