/// Normalises a path in place for comparison (RFC 3986 §6.2.2).
///
/// Escapes of unreserved characters are decoded, then dot segments are removed. Every other escape stays as it
/// was sent: `%2F` never becomes a slash, `%25` never a percent sign. The parser has already refused invalid escapes,
/// `%00` and `\`.
package enum PathNormaliser {
  /// Normalises the path at `path`, which begins with `/`, and returns the slice of the result, which may be shorter.
  @_lifetime(bytes: copy bytes)
  package static func normalise(_ bytes: inout MutableRawSpan, _ path: ByteSlice) -> ByteSlice {
    let start = path.range.lowerBound
    let end = decodeUnreserved(&bytes, path.range)
    let last = removeDotSegments(&bytes, start..<end)
    return ByteSlice(start..<last)
  }

  @_lifetime(bytes: copy bytes)
  private static func decodeUnreserved(_ bytes: inout MutableRawSpan, _ range: Range<Int>) -> Int {
    var read = range.lowerBound
    var write = read
    while read < range.upperBound {
      var byte = bytes.byte(read)
      if byte == 0x25, read &+ 2 < range.upperBound, let high = bytes.byte(read &+ 1).hexadecimal,
        let low = bytes.byte(read &+ 2).hexadecimal, (high << 4 | low).isUnreserved
      {
        byte = high << 4 | low
        read &+= 2
      }
      bytes.put(byte, at: write)
      read &+= 1
      write &+= 1
    }
    return write
  }

  /// Removes dot segments (RFC 3986 §5.2.4); `..` at the root stays at the root.
  @_lifetime(bytes: copy bytes)
  private static func removeDotSegments(_ bytes: inout MutableRawSpan, _ range: Range<Int>) -> Int {
    var read = range.lowerBound
    var write = read
    while read < range.upperBound {
      var end = read &+ 1
      while end < range.upperBound, bytes.byte(end) != 0x2F { end &+= 1 }
      let dots = dotCount(bytes, (read &+ 1)..<end)
      if dots == 2 {
        write = max(write &- 1, range.lowerBound)
        while write > range.lowerBound, bytes.byte(write) != 0x2F { write &-= 1 }
      }
      if dots == 0 {
        for index in read..<end { bytes.put(bytes.byte(index), at: write &+ (index &- read)) }
        write &+= end &- read
      } else if end == range.upperBound {
        bytes.put(0x2F, at: write)
        write &+= 1
      }
      read = end
    }
    if write == range.lowerBound {
      bytes.put(0x2F, at: write)
      write &+= 1
    }
    return write
  }

  /// Returns 1 for `.`, 2 for `..` and 0 for any other segment.
  private static func dotCount(_ bytes: borrowing MutableRawSpan, _ segment: Range<Int>) -> Int {
    guard segment.count == 1 || segment.count == 2 else { return 0 }
    for index in segment where bytes.byte(index) != 0x2E { return 0 }
    return segment.count
  }
}

extension MutableRawSpan {
  fileprivate borrowing func byte(_ index: Int) -> UInt8 {
    unsafeLoad(fromByteOffset: index, as: UInt8.self)
  }

  @_lifetime(self: copy self)
  fileprivate mutating func put(_ byte: UInt8, at index: Int) {
    storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
  }
}
