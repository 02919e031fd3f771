import CZlib
import System

#if canImport(CBrotli)
  import CBrotli
#endif
#if canImport(CZstd)
  import CZstd
#endif

/// Decodes a content coding as bytes arrive, in memory that doesn't depend on the size of the output.
///
/// "A gzip file consists of a series of "members"" (RFC 1952 §2.2), "Zstandard compressed data is made up of one or more
/// frames" (RFC 8878 §3.1): their contents are concatenated. brotli and zstd are available where their libraries are. Not
/// thread-safe.
package final class StreamDecoder {
  /// The supported codings.
  package enum Coding: String, Sendable {
    case gzip
    /// With a zlib header, as in RFC 9110 §8.4.1.2, or without one, as some servers send it.
    case deflate
    #if canImport(CBrotli)
      case brotli
    #endif
    #if canImport(CZstd)
      case zstd
    #endif
  }

  private enum Engine {
    case zlib(UnsafeMutablePointer<z_stream>)
    #if canImport(CBrotli)
      case brotli(OpaquePointer)
    #endif
    #if canImport(CZstd)
      case zstd(OpaquePointer)
    #endif
  }

  private let engine: Engine
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// Whether the bytes so far end with a member or a frame.
  private var isAtEnd = false
  /// Whether everything after the first member is ignored.
  private var ignoresRest: Bool
  /// Whether anything after a zstd frame that isn't a frame is ignored.
  private let ignoresOther: Bool
  /// The first bytes after a frame, until they show what they are.
  private var magic: [UInt8] = []
  /// The first bytes of deflate, until they show whether there is a header.
  private var start: [UInt8]?
  /// Whether no bytes have been decoded yet.
  package private(set) var isEmpty = true

  /// - Parameters:
  ///   - coding: the coding to decode.
  ///   - takesOne: whether anything after the first member is ignored; with zstd, anything after the last frame.
  package init(_ coding: Coding, takesOne: Bool = false) {
    ignoresOther = takesOne
    switch coding {
    case .gzip:
      engine = .zlib(Self.zlib(15 + 16))
      ignoresRest = takesOne
    case .deflate:
      engine = .zlib(Self.zlib(15))
      // There are no members.
      ignoresRest = true
      start = []
    #if canImport(CBrotli)
      case .brotli:
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
          fatalError("libbrotlidec has no memory")
        }
        engine = .brotli(state)
        ignoresRest = true
    #endif
    #if canImport(CZstd)
      case .zstd:
        guard let context = ZSTD_createDCtx() else { fatalError("libzstd has no memory") }
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Int32(Zstd.windowLog))
        engine = .zstd(context)
        ignoresRest = false
    #endif
    }
  }

  private static func zlib(_ windowBits: Int32) -> UnsafeMutablePointer<z_stream> {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard xcache_inflate_init(stream, windowBits) == Z_OK else { fatalError("zlib has no memory") }
    return stream
  }

  deinit {
    room.deallocate()
    switch engine {
    case .zlib(let stream):
      inflateEnd(stream)
      stream.deallocate()
    #if canImport(CBrotli)
      case .brotli(let state): BrotliDecoderDestroyInstance(state)
    #endif
    #if canImport(CZstd)
      case .zstd(let context): ZSTD_freeDCtx(context)
    #endif
    }
  }

  /// Whether bytes begin with zlib's head: "CMF and FLG … is a multiple of 31", and 8 is the one method (RFC 1950 §2.2).
  package static func hasZlibHead(_ bytes: [UInt8]) -> Bool {
    bytes.count >= 2 && bytes[0] & 15 == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
  }

  /// Decodes the next bytes.
  /// - Parameters:
  ///   - bytes: the next bytes.
  ///   - worked: called after each step, even one without output, with the sum of bytes consumed and produced: at most the
  ///     input's and 64 KB; an error that it throws ends the decoding.
  ///   - body: receives the output, in chunks of at most 64 KB; an error that it throws ends the decoding.
  /// - Throws: `CodingError.damaged`, also if a member or frame is followed by something else; `windowTooLarge`, since such a
  ///   frame would take that much memory; what `worked` and `body` throw.
  package func decode(
    _ bytes: RawSpan, worked: (Int) throws -> Void = { _ in }, _ body: (RawSpan) throws -> Void
  ) throws {
    if bytes.byteCount == 0 { return }
    isEmpty = false
    guard let start else { return try decodeNext(bytes, worked, body) }
    let all = bytes.withUnsafeBytes { start + $0 }
    self.start = all
    guard all.count >= 2 else { return }
    self.start = nil
    if case .zlib(let stream) = engine, !Self.hasZlibHead(all), inflateReset2(stream, -15) != Z_OK {
      throw CodingError.damaged
    }
    try decodeNext(all.span.bytes, worked, body)
  }

  private func decodeNext(
    _ bytes: RawSpan, _ worked: (Int) throws -> Void, _ body: (RawSpan) throws -> Void
  ) throws {
    try bytes.withUnsafeBytes { source in
      var used = 0
      var isFull = true
      while isFull || used < source.count {
        if isAtEnd {
          guard used < source.count else { break }
          if ignoresRest { return }
          guard try beginNext(source, &used) else { return }
        }
        let before = used
        let count = try step(source, &used)
        isFull = count == room.count
        try worked(used - before + count)
        if count > 0 { try body(UnsafeRawBufferPointer(rebasing: room[..<count]).bytes) }
        if count == 0, used == before { break }
      }
      guard used == source.count else { throw CodingError.damaged }
    }
  }

  /// Prepares for the next member; libzstd continues with the next frame by itself. False if there is none, or it is too short
  /// to tell.
  private func beginNext(_ source: UnsafeRawBufferPointer, _ used: inout Int) throws -> Bool {
    switch engine {
    case .zlib(let stream):
      guard inflateReset(stream) == Z_OK else { throw CodingError.damaged }
    #if canImport(CBrotli)
      case .brotli: break
    #endif
    #if canImport(CZstd)
      case .zstd:
        guard ignoresOther else { break }
        while used < source.count, magic.count < 4 {
          magic.append(source[used])
          used += 1
          guard Self.isFrameStart(magic) else {
            ignoresRest = true
            return false
          }
        }
        guard magic.count == 4 else { return false }
        var taken = 0
        let start = magic
        magic = []
        _ = try start.withUnsafeBytes { try step($0, &taken) }
    #endif
    }
    isAtEnd = false
    return true
  }

  /// Whether these may be the first bytes of a data frame or a skippable frame (RFC 8878 §3.1.1, §3.1.2).
  private static func isFrameStart(_ bytes: [UInt8]) -> Bool {
    let isOfData = zip(bytes, [0x28, 0xB5, 0x2F, 0xFD] as [UInt8]).allSatisfy { $0 == $1 }
    let isToSkip = zip(bytes, [0x50, 0x2A, 0x4D, 0x18] as [UInt8]).enumerated()
      .allSatisfy { index, pair in (index == 0 ? pair.0 & 0xF0 : pair.0) == pair.1 }
    return isOfData || isToSkip
  }

  /// Ends the input.
  /// - Throws: `damaged`, if the coded bytes don't end with a member or a frame.
  package func finish() throws(CodingError) { if !isAtEnd { throw .damaged } }

  /// Fills the output buffer once.
  private func step(_ source: UnsafeRawBufferPointer, _ used: inout Int) throws(CodingError) -> Int {
    switch engine {
    case .zlib(let stream):
      let rest = UnsafeRawBufferPointer(rebasing: source[used...])
      // zlib never writes to its input; the member isn't const for historical reasons.
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: rest.baseAddress?.assumingMemoryBound(to: UInt8.self))
      stream.pointee.avail_in = UInt32(clamping: rest.count)
      stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(room.count)
      let given = Int(stream.pointee.avail_in)
      let status = inflate(stream, Z_NO_FLUSH)
      used += given - Int(stream.pointee.avail_in)
      // Z_BUF_ERROR: no progress was possible with the input so far.
      guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(status) else { throw .damaged }
      isAtEnd = status == Z_STREAM_END
      return room.count - Int(stream.pointee.avail_out)
    #if canImport(CBrotli)
      case .brotli(let state):
        let rest = UnsafeRawBufferPointer(rebasing: source[used...])
        var (left, free) = (rest.count, room.count)
        var next = rest.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var output = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(state, &left, &next, &free, &output, nil)
        guard result != BROTLI_DECODER_RESULT_ERROR else { throw .damaged }
        used = source.count - left
        isAtEnd = result == BROTLI_DECODER_RESULT_SUCCESS
        return room.count - free
    #endif
    #if canImport(CZstd)
      case .zstd(let context):
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: used)
        var output = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
        let left = ZSTD_decompressStream(context, &output, &input)
        if xcache_zstd_window_too_large(left) != 0 { throw .windowTooLarge(limit: 1 << Zstd.windowLog) }
        guard ZSTD_isError(left) == 0 else { throw .damaged }
        used = input.pos
        isAtEnd = left == 0
        return output.pos
    #endif
    }
  }
}
