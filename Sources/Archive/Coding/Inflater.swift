import CZlib

/// Decodes one deflate stream (RFC 1951) piece by piece.
struct Inflater: ~Copyable {
  // zlib's state points back to its z_stream, which therefore must not move.
  private let stream: UnsafeMutablePointer<z_stream>
  private(set) var isAtEnd = false

  init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard xcache_inflate_init(stream, -15) == Z_OK else { fatalError("zlib has no memory") }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Decodes `input`, handing over what comes of it through `buffer`.
  ///
  /// - Returns: whether the bytes are deflate so far and none is left behind the stream's end.
  mutating func update(
    _ input: UnsafeRawBufferPointer, through buffer: UnsafeMutableRawBufferPointer,
    _ output: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
  ) throws(ArchiveError) -> Bool {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(input.count)
    while !isAtEnd {
      stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.avail_out = UInt32(buffer.count)
      let status = inflate(stream, Z_NO_FLUSH)
      guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return false }
      isAtEnd = status == Z_STREAM_END
      let made = buffer.count - Int(stream.pointee.avail_out)
      if made > 0 { try output(UnsafeRawBufferPointer(rebasing: buffer[..<made])) }
      if stream.pointee.avail_out > 0, stream.pointee.avail_in == 0 { break }
    }
    return stream.pointee.avail_in == 0
  }
}
