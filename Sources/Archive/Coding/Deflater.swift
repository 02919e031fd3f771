import CZlib

/// Deflate (RFC 1951) at the one level that archives are written with; equal bytes give equal bytes.
struct Deflater: ~Copyable {
  /// zlib's own default. Part of the format of `N.zip`: another level would be other bytes.
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

  /// All of `input`, which has less than 4 GB, deflated.
  func pack(_ input: UnsafeRawBufferPointer) -> [UInt8] {
    deflateReset(stream)
    let room = Int(deflateBound(stream, UInt(input.count)))
    return [UInt8](unsafeUninitializedCapacity: room) { out, count in
      feed(input)
      stream.pointee.next_out = out.baseAddress
      stream.pointee.avail_out = UInt32(room)
      // "deflateBound() returns an upper bound": one call is enough.
      guard deflate(stream, Z_FINISH) == Z_STREAM_END else {
        fatalError("deflate needs more room than its bound")
      }
      count = room - Int(stream.pointee.avail_out)
    }
  }

  /// Begins a stream of pieces.
  func begin() { deflateReset(stream) }

  /// The next piece of the stream, deflated into `output` piece by piece.
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
    // zlib never writes to its input; the member is not const for history's sake.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(input.count)
  }
}
