import System
import Zstd

/// Undoes zstd (RFC 8878) as bytes arrive: by libzstd, or by `ZstdDecoder` where there is no libzstd.
package struct ZstdStream: ~Copyable {
  /// Who decodes.
  package enum Decoder: Sendable {
    /// libzstd.
    case library
    /// `ZstdDecoder`.
    case swift

    #if canImport(CZstd)
      /// libzstd, unless the environment variable XCACHE_ZSTD is `swift`: so tests of everything that decodes are run
      /// with the other one.
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
  ///   - base: raw content that stands before the first byte.
  ///   - windowLog: a frame's window may have two to this power bytes.
  ///   - limit: bytes that all may stand for.
  ///   - frames: one, or one or more, and skippable ones.
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

  /// Takes the next bytes, and gives what they stand for, piece by piece. Not to be called again once it threw.
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  package mutating func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    try decoder.push(bytes) { piece in
      written += Int64(piece.byteCount)
      guard written <= limit else { throw CodingError.overLimit }
      try give(piece)
    }
  }

  /// - Throws: `damaged` where it doesn't end with a frame.
  package func finish() throws(CodingError) {
    guard decoder.isAtEnd else { throw .damaged }
  }

  /// What bytes that are all there stand for; the base isn't copied.
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

/// A decoder of zstd frames that is fed as bytes arrive.
protocol FrameDecoding: AnyObject {
  /// - Throws: `damaged`, `overLimit`, or what `give` throws.
  func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws
  /// Whether what was taken ends with a frame.
  var isAtEnd: Bool { get }
}

/// `ZstdDecoder` behind the interface that it shares with libzstd.
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
