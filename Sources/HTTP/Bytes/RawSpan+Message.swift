/// Looking at eight bytes at once (S. E. Anderson, "Bit Twiddling Hacks"; H. S. Warren, "Hacker's Delight").
extension RawSpan {
  /// The byte at `index`, which the caller's loop keeps inside the span: nothing checks it.
  @inline(__always)
  func unsafeByte(at index: Int) -> UInt8 {
    assert(index >= 0 && index < byteCount)
    return unsafeLoad(fromUncheckedByteOffset: index, as: UInt8.self)
  }

  /// The eight bytes at `index`, first byte lowest, which the caller keeps inside the span: nothing checks it.
  @inline(__always)
  func unsafeWord(at index: Int) -> UInt64 {
    assert(index >= 0 && index &+ 8 <= byteCount)
    return UInt64(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
  }

  /// The eight bytes at `index`, first byte lowest; traps outside the span.
  package func word(_ index: Int) -> UInt64 {
    UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  /// Fewer than eight bytes from `index` to the end, in the low bytes of a word; some may stand in it twice.
  @inline(__always)
  private func shortWord(_ index: Int) -> UInt64 {
    let count = byteCount &- index
    if count >= 4 {
      let low = unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt32.self)
      let high = unsafeLoadUnaligned(fromUncheckedByteOffset: byteCount &- 4, as: UInt32.self)
      return UInt64(low) | UInt64(high) &<< 32
    }
    if count == 0 { return 0 }
    let middle = UInt64(unsafeByte(at: index &+ count &>> 1)) &<< 8
    return UInt64(unsafeByte(at: index)) | middle | UInt64(unsafeByte(at: byteCount &- 1)) &<< 16
  }

  /// Whether both spans hold the same bytes.
  package func equals(_ other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    guard byteCount >= 8 else { return shortWord(0) == other.shortWord(0) }
    var index = 0
    while index &+ 8 < byteCount {
      if unsafeWord(at: index) != other.unsafeWord(at: index) { return false }
      index &+= 8
    }
    // The last eight bytes, some of which may have been compared before.
    return unsafeWord(at: byteCount &- 8) == other.unsafeWord(at: byteCount &- 8)
  }

  /// Whether the bytes are those of `lowercase`, ASCII letters of either case counting as one.
  package func equalsIgnoringCase(_ lowercase: RawSpan) -> Bool {
    guard byteCount == lowercase.byteCount else { return false }
    guard byteCount >= 8 else { return RawSpan.lowercased(shortWord(0)) == lowercase.shortWord(0) }
    var index = 0
    while index &+ 8 < byteCount {
      if RawSpan.lowercased(unsafeWord(at: index)) != lowercase.unsafeWord(at: index) { return false }
      index &+= 8
    }
    return RawSpan.lowercased(unsafeWord(at: byteCount &- 8)) == lowercase.unsafeWord(at: byteCount &- 8)
  }

  /// A number that equal bytes share and others hardly ever do, for places in a table; not for keeping: it
  /// depends on nothing but the bytes, so who can choose them can make them meet.
  package var fingerprint: UInt64 {
    var hash = UInt64(truncatingIfNeeded: byteCount)
    guard byteCount >= 8 else { return RawSpan.mixed(hash ^ shortWord(0) &<< 8) }
    var index = 0
    while index &+ 8 < byteCount {
      hash = RawSpan.mixed(hash ^ unsafeWord(at: index))
      index &+= 8
    }
    // The last eight bytes, some of which may be in it already.
    return RawSpan.mixed(hash ^ unsafeWord(at: byteCount &- 8))
  }

  /// One round of mixing (the multiplier of MurmurHash3's finaliser).
  @inline(__always)
  private static func mixed(_ hash: UInt64) -> UInt64 {
    let product = hash &* 0xFF51_AFD7_ED55_8CCD
    return product ^ product &>> 32
  }

  /// Where `byte` is first found at or after `start`.
  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    let pattern = UInt64(byte) &* RawSpan.ones
    var index = max(start, 0)
    while index &+ 8 <= byteCount {
      // The lowest mark is exact: a borrow can only mark bytes above a real hit.
      let marks = RawSpan.zeros(unsafeWord(at: index) ^ pattern)
      if marks != 0 { return index &+ marks.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < byteCount {
      if unsafeByte(at: index) == byte { return index }
      index &+= 1
    }
    return nil
  }

  /// Where a byte below 0x20 or 0x7F is first found at or after `start`.
  @inline(__always)
  func firstControl(from start: Int) -> Int? {
    var index = start
    while index &+ 8 <= byteCount {
      let word = unsafeWord(at: index)
      // Taking 0x20 borrows from bytes below it, adding 1 carries out of 0x7F. Neighbours of a borrow or a
      // carry may be marked too, so a mark is only a reason to look.
      let marks = ((word &- 0x20 &* RawSpan.ones) | (word &+ RawSpan.ones)) & ~word & RawSpan.tops
      guard marks != 0 else {
        index &+= 8
        continue
      }
      index &+= marks.trailingZeroBitCount &>> 3
      if unsafeByte(at: index).isControl { return index }
      index &+= 1
    }
    while index < byteCount {
      if unsafeByte(at: index).isControl { return index }
      index &+= 1
    }
    return nil
  }

  /// Where the first byte at or after `start` is that can't stand in a request target (``ByteClass/target``).
  @inline(__always)
  func endOfTarget(from start: Int) -> Int {
    var index = start
    while index &+ 8 <= byteCount {
      let word = unsafeWord(at: index)
      // A byte below 0x24 borrows, one above 0x7E has its top bit already or is 0x7F, which ended the line
      // before; `<` and `>` differ in one bit. Only `!` is marked and may stand there.
      let angle = RawSpan.zeros((word & (0xFD &* RawSpan.ones)) ^ (0x3C &* RawSpan.ones))
      let marks = ((word &- (0x24 &* RawSpan.ones)) | word | angle) & RawSpan.tops
      guard marks != 0 else {
        index &+= 8
        continue
      }
      index &+= marks.trailingZeroBitCount &>> 3
      guard ByteClass(unsafeByte(at: index)).has(.target) else { return index }
      index &+= 1
    }
    while index < byteCount, ByteClass(unsafeByte(at: index)).has(.target) { index &+= 1 }
    return index
  }

  /// Where the first `%`, `.`, `?` or `\` is at or after `start`; the end without one.
  @inline(__always)
  func firstNotable(from start: Int) -> Int {
    var index = start
    while index &+ 8 <= byteCount {
      let word = unsafeWord(at: index)
      let marks =
        RawSpan.zeros(word ^ (0x25 &* RawSpan.ones)) | RawSpan.zeros(word ^ (0x2E &* RawSpan.ones))
        | RawSpan.zeros(word ^ (0x3F &* RawSpan.ones)) | RawSpan.zeros(word ^ (0x5C &* RawSpan.ones))
      if marks != 0 { return index &+ marks.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < byteCount, !ByteClass(unsafeByte(at: index)).has(.notable) { index &+= 1 }
    return index
  }

  /// How many bytes from `start` on are all of a class.
  @inline(__always)
  func run(of wanted: ByteClass, from start: Int) -> Int {
    var index = start
    while index < byteCount, ByteClass(unsafeByte(at: index)).has(wanted) { index &+= 1 }
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
