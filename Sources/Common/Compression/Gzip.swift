import CZlib
import System

/// The gzip coding (RFC 1952), with zlib.
package enum Gzip {
  /// Encodes the concatenated pieces as one gzip member; the same input gives the same bytes.
  ///
  /// - Parameters:
  ///   - pieces: the input.
  ///   - level: the zlib level, 1 (fast) to 9 (small).
  package static func encode(_ pieces: [[UInt8]], level: Int32 = 6) -> [UInt8] {
    var stream = z_stream()
    guard xcache_deflate_init(&stream, level, 15 + 16) == Z_OK else { fatalError("zlib has no memory") }
    defer { deflateEnd(&stream) }
    var output = OutputBuffer()
    for piece in pieces { pump(&stream, piece.span.bytes, Z_NO_FLUSH, &output) }
    pump(&stream, RawSpan(), Z_FINISH, &output)
    return output.bytes
  }

  /// Decodes `coded`, a single gzip member.
  ///
  /// - Parameters:
  ///   - coded: the gzip member.
  ///   - limit: the maximum bytes of the result.
  /// - Throws: `damaged`, `overLimit`.
  package static func decode(_ coded: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
    var stream = z_stream()
    guard xcache_inflate_init(&stream, 15 + 16) == Z_OK else { fatalError("zlib has no memory") }
    defer { inflateEnd(&stream) }
    var output = OutputBuffer()
    let status = coded.withUnsafeBufferPointer { input -> Int32 in
      // zlib never writes to its input; the member isn't const for historical reasons.
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.avail_in = UInt32(clamping: input.count)
      var status = Z_OK
      while status == Z_OK, output.count <= limit {
        status = output.fill { next, room in
          stream.next_out = next
          stream.avail_out = UInt32(room)
          let status = inflate(&stream, Z_NO_FLUSH)
          return (status, room - Int(stream.avail_out))
        }
      }
      return status
    }
    if output.count > limit { throw .overLimit }
    guard status == Z_STREAM_END, stream.avail_in == 0 else { throw .damaged }
    return output.bytes
  }

  static func pump(
    _ stream: inout z_stream, _ piece: RawSpan, _ flush: Int32, _ output: inout OutputBuffer
  ) {
    piece.withUnsafeBytes { input in
      // zlib never writes to its input.
      stream.next_in = UnsafeMutablePointer(
        mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
      stream.avail_in = UInt32(clamping: input.count)
      var more = true
      while more {
        more = output.fill { next, room in
          stream.next_out = next
          stream.avail_out = UInt32(room)
          let status = deflate(&stream, flush)
          let full = stream.avail_out == 0
          return (full || (flush == Z_FINISH && status == Z_OK), room - Int(stream.avail_out))
        }
      }
    }
  }
}

/// The common middle of documents that differ only before and after it, compressed once: each document is assembled
/// as one gzip member (RFC 1952) without compressing the middle again.
///
/// Deflate blocks (RFC 1951) may refer to earlier data, but those of the middle were made as if there were none, and
/// a flush aligns their end to a byte.
package struct GzipMiddle: Sendable {
  private let checksum: UInt
  private let count: Int

  /// Compresses the middle.
  /// - Parameter feed: passes the pieces of the middle, in order, to the closure that it is given.
  /// - Returns: the middle, and its blocks, which go between head and tail.
  package static func code(_ feed: ((RawSpan) -> Void) -> Void) -> (middle: GzipMiddle, blocks: [UInt8]) {
    var encoder = DeflateEncoder()
    var (checksum, count) = (UInt(0), 0)
    feed { piece in
      checksum = Self.checksum(checksum, of: piece)
      count += piece.byteCount
      encoder.append(piece)
    }
    return (GzipMiddle(checksum: checksum, count: count), encoder.finish())
  }

  /// Returns the bytes before and after the blocks, for a document of `prefix`, the middle and `suffix`.
  package func around(_ prefix: [UInt8], _ suffix: [UInt8]) -> (head: [UInt8], tail: [UInt8]) {
    // Magic, deflate, no flags, no time, no hint, Unix (RFC 1952 §2.3).
    let (start, first) = (Self.deflate(prefix, Z_SYNC_FLUSH), Self.checksum(0, of: prefix.span.bytes))
    let (end, last) = (Self.deflate(suffix, Z_FINISH), Self.checksum(0, of: suffix.span.bytes))
    let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + start
    let whole = crc32_combine(crc32_combine(first, checksum, count), last, suffix.count)
    var tail = end
    for number in [
      UInt32(truncatingIfNeeded: whole), UInt32(truncatingIfNeeded: prefix.count + count + suffix.count),
    ] {
      for shift in [0, 8, 16, 24] as [UInt32] { tail.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    return (head, tail)
  }

  private static func deflate(_ bytes: [UInt8], _ end: Int32) -> [UInt8] {
    var stream = z_stream()
    guard xcache_deflate_init(&stream, 6, -15) == Z_OK else { fatalError("zlib has no memory") }
    defer { deflateEnd(&stream) }
    var output = OutputBuffer()
    Gzip.pump(&stream, bytes.span.bytes, end, &output)
    return output.bytes
  }

  /// Returns the CRC-32 `checksum`, continued over `piece`.
  private static func checksum(_ checksum: UInt, of piece: RawSpan) -> UInt {
    // For a null pointer, zlib returns the initial checksum.
    guard piece.byteCount > 0 else { return checksum }
    return piece.withUnsafeBytes {
      crc32_z(checksum, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
    }
  }
}
