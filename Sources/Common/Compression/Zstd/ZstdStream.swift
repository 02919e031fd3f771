import System
import Zstd

/// Decodes zstd (RFC 8878) as bytes arrive: with libzstd, or with `ZstdDecoder` where there is no libzstd.
package struct ZstdStream: ~Copyable {
  /// The implementation that decodes.
  package enum Decoder: Sendable {
    /// libzstd.
    case library
    /// `ZstdDecoder`.
    case swift

    #if canImport(CZstd)
      /// libzstd, unless the environment variable XCACHE_ZSTD is `swift`, so that all tests can also run with the
      /// other decoder.
      package static let current: Decoder =
        Environment.variables["XCACHE_ZSTD"] == "swift" ? .swift : .library
    #else
      package static let current: Decoder = .swift
    #endif
  }

  private let decoder: any FrameDecoding
  private let limit: Int64
  private var written: Int64 = 0

  /// - Parameters:
  ///   - base: raw content that precedes the first byte.
  ///   - windowLog: the logarithm of the maximum window: a frame's window may have two to this power bytes.
  ///   - limit: the maximum bytes of the result of all frames.
  ///   - frames: which frames are accepted.
  ///   - decoder: the implementation to use.
  package init(
    base: [UInt8] = [], windowLog: Int, limit: Int64, frames: ZstdDecoder.Frames = .all,
    by decoder: Decoder = .current
  ) {
    self.limit = limit
    #if canImport(CZstd)
      if decoder == .library {
        self.decoder = LibzstdDecoder(base: base, windowLog: windowLog, frames: frames)
        return
      }
    #endif
    self.decoder = SwiftDecoder(base: base, windowLog: windowLog, limit: limit, frames: frames)
  }

  /// Decodes the next bytes, and passes the result to `give` in chunks. Must not be called again after it throws.
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  package mutating func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    try decoder.push(bytes) { piece in
      written += Int64(piece.byteCount)
      guard written <= limit else { throw CodingError.overLimit }
      try give(piece)
    }
  }

  /// Checks that the input ends with a complete frame.
  /// - Throws: `damaged`, if it doesn't.
  package func finish() throws(CodingError) {
    guard decoder.isAtEnd else { throw .damaged }
  }

  /// Decodes complete input; the base isn't copied.
  /// - Throws: `damaged`, `overLimit`.
  static func decode(
    _ coded: RawSpan, base: [UInt8] = [], windowLog: Int, limit: Int, frames: ZstdDecoder.Frames = .all
  ) throws(CodingError) -> [UInt8] {
    #if canImport(CZstd)
      if Decoder.current == .library {
        return try base.span.bytes.withUnsafeBytes { base throws(CodingError) in
          let decoder = LibzstdDecoder(lent: base, windowLog: windowLog, frames: frames)
          return try ZstdStream(decoder, limit: Int64(limit)).decode(coded)
        }
      }
    #endif
    return try ZstdStream(base: base, windowLog: windowLog, limit: Int64(limit), frames: frames).decode(coded)
  }

  private init(_ decoder: any FrameDecoding, limit: Int64) {
    self.decoder = decoder
    self.limit = limit
  }

  private consuming func decode(_ coded: RawSpan) throws(CodingError) -> [UInt8] {
    var decoded: [UInt8] = []
    do {
      try push(coded) { piece in piece.withUnsafeBytes { decoded.append(contentsOf: $0) } }
    } catch {
      throw error as? CodingError ?? .damaged
    }
    try finish()
    return decoded
  }
}

/// A streaming decoder of zstd frames.
protocol FrameDecoding: AnyObject {
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws
  /// Whether the input so far ends with a frame.
  var isAtEnd: Bool { get }
}

/// `ZstdDecoder` as a `FrameDecoding`.
private final class SwiftDecoder: FrameDecoding {
  private var decoder: ZstdDecoder

  init(base: [UInt8], windowLog: Int, limit: Int64, frames: ZstdDecoder.Frames) {
    decoder = ZstdDecoder(dictionary: base, windowLimit: 1 << windowLog, limit: limit, frames: frames)
  }

  func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    do {
      try decoder.push(bytes, give)
    } catch let error as ZstdError {
      throw error == .overLimit ? CodingError.overLimit : .damaged
    }
  }

  var isAtEnd: Bool { decoder.isAtEnd }
}
