import CZlib

/// The gzip coding (RFC 1952) by zlib.
package enum Gzip {
  /// The input pieces, one after another, as one gzip member; the same input gives the same bytes.
  ///
  /// - Parameter level: zlib's, 1 (fast) to 9 (small).
  package static func encode(_ pieces: [[UInt8]], level: Int32 = 6) -> [UInt8] {
    var stream = z_stream()
    guard xcache_deflate_init(&stream, level, 15 + 16) == Z_OK else { fatalError("zlib has no memory") }
    defer { deflateEnd(&stream) }
    var output = OutputBuffer()
    for piece in pieces { pump(&stream, piece, Z_NO_FLUSH, &output) }
    pump(&stream, [], Z_FINISH, &output)
    return output.bytes
  }

  /// The bytes that `coded` stands for.
  ///
  /// - Parameter limit: bytes that the result may have at most.
  /// - Throws: `damaged`, `overLimit`.
  package static func decode(_ coded: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
    var stream = z_stream()
    guard xcache_inflate_init(&stream, 15 + 16) == Z_OK else { fatalError("zlib has no memory") }
    defer { inflateEnd(&stream) }
    var output = OutputBuffer()
    let status = coded.withUnsafeBufferPointer { input -> Int32 in
      // zlib never writes to its input; the member is not const for history's sake.
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
    _ stream: inout z_stream, _ piece: [UInt8], _ flush: Int32, _ output: inout OutputBuffer
  ) {
    piece.withUnsafeBufferPointer { input in
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
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
