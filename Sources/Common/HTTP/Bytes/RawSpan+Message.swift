/// Operations on eight bytes at once (S. E. Anderson, "Bit Twiddling Hacks"; H. S. Warren, "Hacker's Delight").
extension RawSpan {
  /// The byte at `index`, without a bounds check: the caller's loop keeps it inside the span.
  @inline(__always)
  func unsafeByte(at index: Int) -> UInt8 {
    assert(index >= 0 && index < byteCount)
    return unsafeLoad(fromUncheckedByteOffset: index, as: UInt8.self)
  }

  /// The eight bytes at `index`, first byte lowest, without a bounds check: the caller keeps them inside the span.
  @inline(__always)
  func unsafeWord(at index: Int) -> UInt64 {
    assert(index >= 0 && index &+ 8 <= byteCount)
    return UInt64(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
  }

  /// The eight bytes at `index`, first byte lowest; traps outside the span.
  package func word(_ index: Int) -> UInt64 {
    UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  /// Fewer than eight bytes from `index` to the end, in the low bytes of a word; some may be in it twice.
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
    // The last eight bytes, some of which may already have been compared.
    return unsafeWord(at: byteCount &- 8) == other.unsafeWord(at: byteCount &- 8)
  }

  /// Whether the bytes equal those of `lowercase`, ignoring ASCII case.
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

  /// A hash for in-memory tables. It isn't for storage, and it isn't keyed: whoever can choose the bytes can make
  /// hashes collide.
  package var fingerprint: UInt64 {
    var hash = UInt64(truncatingIfNeeded: byteCount)
    guard byteCount >= 8 else { return RawSpan.mixed(hash ^ shortWord(0) &<< 8) }
    var index = 0
    while index &+ 8 < byteCount {
      hash = RawSpan.mixed(hash ^ unsafeWord(at: index))
      index &+= 8
    }
    // The last eight bytes, some of which may already be included.
    return RawSpan.mixed(hash ^ unsafeWord(at: byteCount &- 8))
  }

  /// One mixing round, with the multiplier of MurmurHash3's finaliser.
  @inline(__always)
  private static func mixed(_ hash: UInt64) -> UInt64 {
    let product = hash &* 0xFF51_AFD7_ED55_8CCD
    return product ^ product &>> 32
  }

  /// Returns the index of the first `byte` at or after `start`.
  package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    let pattern = UInt64(byte) &* RawSpan.ones
    var index = max(start, 0)
    while index &+ 8 <= byteCount {
      // The lowest mark is exact: a borrow can only produce false marks above a real match.
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

  /// Returns the index of the first byte at or after `start` that is below 0x20 or is 0x7F.
  @inline(__always)
  func firstControl(from start: Int) -> Int? {
    var index = start
    while index &+ 8 <= byteCount {
      let word = unsafeWord(at: index)
      // Subtracting 0x20 borrows in bytes below it, adding 1 carries out of 0x7F. The neighbours of a borrow or a
      // carry may be marked too, so a mark is only a reason to look closer.
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

  /// Returns the index of the first byte at or after `start` that isn't allowed in a request target (``ByteClass/target``).
  @inline(__always)
  func endOfTarget(from start: Int) -> Int {
    var index = start
    while index &+ 8 <= byteCount {
      let word = unsafeWord(at: index)
      // A byte below 0x24 borrows; one above 0x7E has its top bit set, or is 0x7F, which has already ended the line;
      // `<` and `>` differ in one bit. The only allowed byte that gets marked is `!`.
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

  /// Returns the index of the first `%`, `.`, `?` or `\` at or after `start`, or the end if there is none.
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

  /// Returns the length of the run of bytes of a class that begins at `start`.
  @inline(__always)
  func run(of wanted: ByteClass, from start: Int) -> Int {
    var index = start
    while index < byteCount, ByteClass(unsafeByte(at: index)).has(wanted) { index &+= 1 }
    return index &- start
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
  private static var tops: UInt64 { 0x8080_8080_8080_8080 }

  /// Marks the zero bytes of a word; marks above the first may be false.
  @inline(__always)
  private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & tops }

  /// Returns the word with its ASCII capital letters lowercased.
  @inline(__always)
  private static func lowercased(_ word: UInt64) -> UInt64 {
    let low = word & ~tops
    let fromA = low &+ (0x80 - 0x41) &* ones
    let pastZ = low &+ (0x80 - 0x5B) &* ones
    return word | (fromA & ~pastZ & ~word & tops) &>> 2
  }
}
