/// The checksum of a frame's content: XXH64 with seed 0 (RFC 8878 §3.1.1, Content_Checksum).
struct XXH64 {
  private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
  private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
  private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
  private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

  private var lanes = (Self.prime1 &+ Self.prime2, Self.prime2, UInt64(0), 0 &- Self.prime1)
  /// The bytes that don't fill a stripe of 32 yet.
  private var rest = SIMD32<UInt8>()
  private var restCount = 0
  private var count: UInt64 = 0

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    count &+= UInt64(bytes.count)
    var bytes = bytes[...]
    if restCount > 0 {
      while restCount < 32, let byte = bytes.popFirst() {
        rest[restCount] = byte
        restCount += 1
      }
      guard restCount == 32 else { return }
      withUnsafeBytes(of: rest) { stripes(UnsafeRawBufferPointer($0)) }
      restCount = 0
    }
    let whole = bytes.count & ~31
    stripes(UnsafeRawBufferPointer(rebasing: bytes.prefix(whole)))
    for byte in bytes.dropFirst(whole) {
      rest[restCount] = byte
      restCount += 1
    }
  }

  private mutating func stripes(_ bytes: UnsafeRawBufferPointer) {
    var (a, b, c, d) = lanes
    var offset = 0
    while offset < bytes.count {
      a = Self.round(a, word(bytes, offset))
      b = Self.round(b, word(bytes, offset &+ 8))
      c = Self.round(c, word(bytes, offset &+ 16))
      d = Self.round(d, word(bytes, offset &+ 24))
      offset &+= 32
    }
    lanes = (a, b, c, d)
  }

  @inline(__always)
  private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
    value &<< count | value &>> (64 &- count)
  }

  @inline(__always)
  private static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
    rotate(lane &+ input &* prime2, 31) &* prime1
  }

  /// The checksum of all bytes so far.
  var value: UInt64 {
    var hash: UInt64
    if count >= 32 {
      let (a, b, c, d) = lanes
      hash = Self.rotate(a, 1) &+ Self.rotate(b, 7) &+ Self.rotate(c, 12) &+ Self.rotate(d, 18)
      for lane in [a, b, c, d] {
        hash = (hash ^ Self.round(0, lane)) &* Self.prime1 &+ Self.prime4
      }
    } else {
      hash = Self.prime5
    }
    hash = hash &+ count
    var offset = 0
    func word(_ width: Int) -> UInt64 {
      defer { offset += width }
      return (0..<width).reduce(0) { $0 | UInt64(rest[offset + $1]) << UInt64(8 * $1) }
    }
    while offset + 8 <= restCount {
      hash = Self.rotate(hash ^ Self.round(0, word(8)), 27) &* Self.prime1 &+ Self.prime4
    }
    if offset + 4 <= restCount {
      hash = Self.rotate(hash ^ word(4) &* Self.prime1, 23) &* Self.prime2 &+ Self.prime3
    }
    while offset < restCount {
      hash = Self.rotate(hash ^ word(1) &* Self.prime5, 11) &* Self.prime1
    }
    hash = (hash ^ hash >> 33) &* Self.prime2
    hash = (hash ^ hash >> 29) &* Self.prime3
    return hash ^ hash >> 32
  }
}
