/// Looking at eight bytes at once (S. E. Anderson, "Bit Twiddling Hacks"; H. S. Warren, "Hacker's Delight").
extension RawSpan {
  /// The byte at `index`, which the caller's loop keeps inside the span.
  @inline(__always)
  func at(_ index: Int) -> UInt8 {
    assert(index >= 0 && index < byteCount)
    return unsafeLoad(fromUncheckedByteOffset: index, as: UInt8.self)
  }

  /// The eight bytes at `index`, first byte lowest; the caller keeps them inside the span.
  @inline(__always)
  private func word(_ index: Int) -> UInt64 {
    assert(index >= 0 && index &+ 8 <= byteCount)
    return UInt64(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
  }

  /// Whether both spans hold the same bytes.
  package func equals(_ other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    var index = 0
    while index &+ 8 <= byteCount {
      if word(index) != other.word(index) { return false }
      index &+= 8
    }
    while index < byteCount {
      if at(index) != other.at(index) { return false }
      index &+= 1
    }
    return true
  }

  /// Whether the bytes are those of `lowercase`, ASCII letters of either case counting as one.
  package func equalsIgnoringCase(_ lowercase: RawSpan) -> Bool {
    guard byteCount == lowercase.byteCount else { return false }
    var index = 0
    while index &+ 8 <= byteCount {
      if RawSpan.lowercased(word(index)) != lowercase.word(index) { return false }
      index &+= 8
    }
    while index < byteCount {
      if at(index).lowercased != lowercase.at(index) { return false }
      index &+= 1
    }
    return true
  }

  /// Where `byte` is first found at or after `start`.
  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    let pattern = UInt64(byte) &* RawSpan.ones
    var index = max(start, 0)
    while index &+ 8 <= byteCount {
      // The lowest mark is exact: a borrow can only mark bytes above a real hit.
      let marks = RawSpan.zeros(word(index) ^ pattern)
      if marks != 0 { return index &+ marks.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < byteCount {
      if at(index) == byte { return index }
      index &+= 1
    }
    return nil
  }

  /// Where a byte below 0x20 or 0x7F is first found at or after `start`.
  func firstControl(from start: Int) -> Int? {
    var index = max(start, 0)
    while index &+ 8 <= byteCount {
      let word = word(index)
      let below = (word &- 0x20 &* RawSpan.ones) & ~word & RawSpan.tops
      let marks = below | RawSpan.zeros(word ^ 0x7F &* RawSpan.ones)
      if marks != 0 { return index &+ marks.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < byteCount {
      let byte = at(index)
      if byte < 0x20 || byte == 0x7F { return index }
      index &+= 1
    }
    return nil
  }

  /// How many bytes from `start` on are all of a class.
  @inline(__always)
  func run(of wanted: ByteClass, from start: Int) -> Int {
    var index = start
    while index < byteCount, ByteClass(at(index)).has(wanted) { index &+= 1 }
    return index &- start
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
  private static var tops: UInt64 { 0x8080_8080_8080_8080 }

  /// Marks the zero bytes of a word; above the first one marks may be false.
  @inline(__always)
  private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & tops }

  /// A word with the ASCII capital letters in it made small.
  @inline(__always)
  private static func lowercased(_ word: UInt64) -> UInt64 {
    let low = word & ~tops
    let fromA = low &+ (0x80 - 0x41) &* ones
    let pastZ = low &+ (0x80 - 0x5B) &* ones
    return word | (fromA & ~pastZ & ~word & tops) &>> 2
  }
}
