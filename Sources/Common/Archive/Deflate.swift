import CZlib

/// Deflate (RFC 1951) at the fixed level with which archives are written; equal input gives equal output.
struct Deflater: ~Copyable {
  /// zlib's default. Part of the format of `N.zip`: another level would produce other bytes.
  static let level: Int32 = 6

  // zlib's state points back to its z_stream, which therefore must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard xcache_raw_deflate_init(stream, Self.level) == Z_OK else { fatalError("zlib has no memory") }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Returns all of `input`, which must be less than 4 GB, deflated.
  func compress(_ input: UnsafeRawBufferPointer) -> [UInt8] {
    deflateReset(stream)
    let bound = Int(deflateBound(stream, UInt(input.count)))
    return [UInt8](unsafeUninitializedCapacity: bound) { out, count in
      feed(input)
      stream.pointee.next_out = out.baseAddress
      stream.pointee.avail_out = UInt32(bound)
      // "deflateBound() returns an upper bound": one call is enough.
      guard deflate(stream, Z_FINISH) == Z_STREAM_END else {
        fatalError("deflate needs more room than its bound")
      }
      count = bound - Int(stream.pointee.avail_out)
    }
  }

  /// Begins a new stream.
  func begin() { deflateReset(stream) }

  /// Deflates the next piece of the stream and passes the result to `output` in pieces.
  func update(
    _ input: UnsafeRawBufferPointer, isLast: Bool, through buffer: UnsafeMutableRawBufferPointer,
    _ output: (RawSpan) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    feed(input)
    repeat {
      stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.avail_out = UInt32(buffer.count)
      _ = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
      let made = buffer.count - Int(stream.pointee.avail_out)
      try output(UnsafeRawBufferPointer(rebasing: buffer[..<made]).bytes)
    } while stream.pointee.avail_out == 0
  }

  private func feed(_ input: UnsafeRawBufferPointer) {
    // zlib never writes to its input; the member isn't const for historical reasons.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(input.count)
  }
}

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

  /// Decodes `input` and passes the result to `output` through `buffer`.
  ///
  /// - Returns: whether the data is valid so far and nothing follows the stream's end.
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

/// The checksum of ZIP's entries (APPNOTE.TXT 4.4.7).
struct CRC32 {
  private(set) var value: UInt32 = 0

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    let start = bytes.bindMemory(to: UInt8.self).baseAddress
    // With a null pointer, zlib would return the initial value.
    guard let start else { return }
    value = UInt32(truncatingIfNeeded: crc32_z(UInt(value), start, bytes.count))
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var crc = CRC32()
    bytes.withUnsafeBytes { crc.update($0) }
    return crc.value
  }
}
