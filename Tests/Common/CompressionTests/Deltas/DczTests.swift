import Compression
import System
import Testing

@Suite struct DczTests {
  static let base: [UInt8] = {
    var state: UInt64 = 1
    return (0..<60_000).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1
      return UInt8(truncatingIfNeeded: state >> 56)
    }
  }()
  static let sha256 = SHA256.of(base)
  /// The base with small changes: parts moved, removed and added.
  static let targets: [[UInt8]] = [
    // A copy: zstd takes a source in the memory of its dictionary for one that has overwritten it.
    [], [7], base.map { $0 }, Array(base.dropFirst(20_000)), Array("head".utf8) + base + Array("tail".utf8),
    Array(base[30_000...] + base[..<30_000]),
  ]

  // By index, so that a failure doesn't print 60,000 bytes.
  @Test(arguments: targets.indices) func deltasRoundTrip(index: Int) throws {
    let target = Self.targets[index]
    for coded in [
      Dcz.encode(target, base: Self.base, baseSHA256: Self.sha256, level: Dcz.fastLevel),
      Dcz.encodeWell(target, base: Self.base, baseSHA256: Self.sha256),
    ] {
      let coded = try #require(coded)
      #expect(coded.count < 200)
      let decoded = try Dcz.decode(coded, base: Self.base, baseSHA256: Self.sha256, limit: target.count)
      let isSame = decoded == target
      #expect(isSame)
    }
  }

  @Test func headerHasMagicAndDigestOfTheBase() throws {
    let coded = try #require(Dcz.encodeWell(Self.targets[2], base: Self.base, baseSHA256: Self.sha256))
    #expect(coded.prefix(8) == [0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0])
    #expect(Array(coded[8..<40]) == Self.sha256.bytes)
    #expect(Array(coded[40..<44]) == [0x28, 0xb5, 0x2f, 0xfd])
  }

  @Test func damagedInputIsRefused() throws {
    let target = Self.targets[4]
    let coded = try #require(Dcz.encodeWell(target, base: Self.base, baseSHA256: Self.sha256))
    func decode(_ bytes: [UInt8], limit: Int = 100_000) throws(CodingError) -> [UInt8] {
      try Dcz.decode(bytes, base: Self.base, baseSHA256: Self.sha256, limit: limit)
    }
    for cut in [0, 7, 39, 40, coded.count - 1] {
      #expect(throws: CodingError.damaged) { try decode(Array(coded.prefix(cut))) }
    }
    #expect(throws: CodingError.damaged) { try decode(coded + [0]) }
    #expect(throws: CodingError.overLimit) { try decode(coded, limit: target.count - 1) }
    var other = coded
    other[8] ^= 1
    #expect(throws: CodingError.otherBase) { try decode(other) }
    // A flipped bit may give other bytes, which the caller finds by their digest, but never more than the limit.
    for index in 40..<coded.count {
      var flipped = coded
      flipped[index] ^= 0x10
      if let bytes = try? decode(flipped) { #expect(bytes.count <= 100_000) }
    }
  }

  @Test func targetsAreLimitedByTheWindow() {
    #expect(Dcz.largestTarget(base: 0) == 8 << 20)
    #expect(Dcz.largestTarget(base: 16 << 20) == 20 << 20)
    #expect(Dcz.largestTarget(base: 1 << 30) == 128 << 20)
    let large = [UInt8](repeating: 1, count: 8 << 20 | 1)
    #expect(Dcz.encode(large, base: [1], baseSHA256: SHA256.of([1]), level: 1) == nil)
    #expect(Dcz.encode(Array(large.dropLast()), base: [1], baseSHA256: SHA256.of([1]), level: 1) != nil)
  }
}
