import Testing

@testable import Zstd

/// Handwritten frames that each break one rule of the format.
@Suite struct RuleTests {
  typealias Case = (name: String, coded: [UInt8], error: ZstdError?)

  private static let abc = Bits.literals([1, 2, 3])

  static let cases: [Case] = [
    ("nothing", [], .truncated),
    ("a magic number that ends", [0x28, 0xB5], .truncated),
    ("another magic number", [0x28, 0xB5, 0x2F, 0xFC], .noFrame(at: 0)),
    ("an empty frame", Bits.header + Bits.block(0, size: 0, []), nil),
    ("bytes after a frame", Bits.header + Bits.block(0, size: 0, []) + [1, 2, 3, 4], .noFrame(at: 9)),
    ("the reserved bit", Bits.magic + [0x08], .corrupted(.reservedBit, at: 0)),
    ("the unused bit", Bits.magic + [0x10, 0x00] + Bits.block(0, size: 0, []), nil),
    ("a window over the limit", Bits.magic + [0x00, 14 << 3], .windowTooLarge(16 << 20)),
    ("the largest window", Bits.magic + [0x00, 0xFF], .windowTooLarge(15 << 38)),
    (
      "a content of 2^64 - 1 bytes", Bits.magic + [0xE0] + [UInt8](repeating: 0xFF, count: 8),
      .overLimit
    ),
    ("a dictionary by id", Bits.magic + [0x03, 0x00, 1, 2, 3, 4], .dictionaryNeeded(0x0403_0201)),
    ("a dictionary id of 0", Bits.magic + [0x01, 0x00, 0] + Bits.block(0, size: 0, []), nil),
    (
      "less content than the size", Bits.magic + [0x20, 2] + Bits.block(0, size: 1, [7]),
      .corrupted(.contentSize, at: 6)
    ),
    (
      "more content than the size", Bits.magic + [0x40, 0x00, 0, 0] + Bits.block(1, size: 257, [7]),
      .corrupted(.contentSize, at: 8)
    ),
    ("block type 3", Bits.header + Bits.block(3, size: 1, [0]), .corrupted(.blockType, at: 6)),
    (
      "a raw block over the window", Bits.header + Bits.block(0, size: 1025, []),
      .corrupted(.blockSize, at: 6)
    ),
    ("a run over the window", Bits.header + Bits.block(1, size: 1025, [0]), .corrupted(.blockSize, at: 6)),
    ("a run of the window's size", Bits.header + Bits.block(1, size: 1024, [0]), nil),
    ("a checksum", Bits.magic + [0x04, 0x00] + Bits.block(0, size: 0, []) + [0x99, 0xE9, 0xD8, 0x51], nil),
    (
      "another checksum", Bits.magic + [0x04, 0x00] + Bits.block(0, size: 0, []) + [0x98, 0xE9, 0xD8, 0x51],
      .checksum
    ),
    ("no checksum", Bits.magic + [0x04, 0x00] + Bits.block(0, size: 0, []) + [0x99], .truncated),

    ("literals alone", Bits.header + Bits.compressed(abc + [0]), nil),
    (
      "an empty compressed block", Bits.header + Bits.block(2, size: 0, []),
      .corrupted(.emptyBlock, at: 6)
    ),
    (
      "literals that are cut", Bits.header + Bits.compressed([4 << 3, 1, 2]),
      .corrupted(.literalsHeader, at: 6)
    ),
    ("no sequences section", Bits.header + Bits.compressed(abc), .corrupted(.sequencesHeader, at: 6)),
    (
      "bytes after zero sequences", Bits.header + Bits.compressed(abc + [0, 0]),
      .corrupted(.sequencesHeader, at: 6)
    ),
    (
      "literals by the previous tree without one", Bits.header + Bits.compressed([0x13, 0x40, 0, 1, 0]),
      .corrupted(.noTree, at: 6)
    ),
    (
      "a tree without weights", Bits.header + Bits.compressed([0x12, 0xC0, 0, 0x80, 0, 1, 0]),
      .corrupted(.tree, at: 6)
    ),
    ("a tree of 12 bits", Bits.header + Bits.compressed(tree([12, 1])), .corrupted(.treeDepth, at: 6)),
    ("a tree without a weight of 1", Bits.header + Bits.compressed(tree([2])), .corrupted(.tree, at: 6)),
    ("a tree that isn't full", Bits.header + Bits.compressed(tree([3, 1])), .corrupted(.tree, at: 6)),
    (
      "four streams of five literals",
      Bits.header + Bits.compressed(tree([1], [1, 0, 1, 0, 1, 0, 6, 6, 6, 6], size: 5, inFour: true)),
      .corrupted(.literalsHeader, at: 6)
    ),
    (
      "four streams of eight",
      Bits.header + Bits.compressed(tree([1], [1, 0, 1, 0, 1, 0, 6, 6, 6, 6], size: 8, inFour: true)), nil
    ),
    (
      "four streams without the fourth",
      Bits.header + Bits.compressed(tree([1], [1, 0, 1, 0, 2, 0, 6, 6, 6, 6], size: 8, inFour: true)),
      .corrupted(.literalsHeader, at: 6)
    ),
    ("one stream", Bits.header + Bits.compressed(tree([1], [6], size: 2)), nil),
    (
      "unused literals", Bits.header + Bits.compressed(tree([1], [6], size: 1)),
      .corrupted(.literals, at: 6)
    ),
    (
      "missing literals", Bits.header + Bits.compressed(tree([1], [6], size: 3)),
      .corrupted(.literals, at: 6)
    ),

    (
      "a match",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 2, match: 4, bits: "01")), nil
    ),
    (
      "a match before the beginning",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 3, match: 0, bits: "000")),
      .corrupted(.offset, at: 6)
    ),
    (
      "a match that is too long",
      Bits.header
        + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 0, match: 46, bits: "1111111111")),
      .corrupted(.blockSize, at: 6)
    ),
    (
      "more literals than there are",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 4, offset: 2, match: 0, bits: "00")),
      .corrupted(.literalsRunOut, at: 6)
    ),
    (
      "the last offset minus one, 0",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 0, offset: 1, match: 0, bits: "1")),
      .corrupted(.zeroOffset, at: 6)
    ),
    (
      "reserved modes",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 0, match: 0, modes: 0x55)),
      .corrupted(.reservedModes, at: 6)
    ),
    (
      "the previous tables without any",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 0, match: 0, modes: 0xFC)),
      .corrupted(.noTable, at: 6)
    ),
    (
      "an invalid code",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 36, offset: 0, match: 0)),
      .corrupted(.distribution, at: 6)
    ),
    // libzstd, at least up to 1.5.5, accepts such a description: it reads the last bits repeatedly.
    (
      "a distribution that continues beyond the block",
      Bits.header + Bits.compressed(abc + [2, 8, 83, 130, 93, 138, 8]), .corrupted(.distributionEnd, at: 6)
    ),
    (
      "unused bits",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 0, match: 0, bits: "0")),
      .corrupted(.sequences, at: 6)
    ),
    (
      "missing bits",
      Bits.header + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 2, match: 0, bits: "0")),
      .corrupted(.sequences, at: 6)
    ),
    (
      "no end mark", Bits.header + Bits.compressed(abc + [1, 0x54, 3, 0, 0, 0]), .corrupted(.sequences, at: 6)
    ),
    (
      "an offset beyond the window",
      Bits.header + Bits.block(1, size: 1024, [5], isLast: false)
        + Bits.block(1, size: 1024, [5], isLast: false)
        + Bits.compressed(
          Bits.literals([]) + Bits.sequence(literals: 0, offset: 10, match: 0, bits: "0000000100")),
      .corrupted(.farOffset, at: 14)
    ),
    (
      "an offset beyond the window before it wraps around",
      Bits.header + Bits.block(1, size: 1024, [5], isLast: false)
        + Bits.compressed(abc + Bits.sequence(literals: 3, offset: 10, match: 0, bits: "0000000101")),
      .corrupted(.farOffset, at: 10)
    ),
    (
      "an offset of the window's size",
      Bits.header + Bits.block(1, size: 1024, [5], isLast: false)
        + Bits.block(1, size: 1024, [5], isLast: false)
        + Bits.compressed(
          Bits.literals([]) + Bits.sequence(literals: 0, offset: 10, match: 0, bits: "0000000011")),
      nil
    ),
  ]

  /// A block of `size` Huffman literals, whose tree has these weights and the implied last one.
  private static func tree(_ weights: [UInt8], _ streams: [UInt8] = [1], size: Int = 1, inFour: Bool = false)
    -> [UInt8]
  {
    let pairs = stride(from: 0, to: weights.count, by: 2).map { place in
      weights[place] << 4 | (place + 1 < weights.count ? weights[place + 1] : 0)
    }
    let coded = [UInt8(127 + weights.count)] + pairs + streams
    let header = 2 | (inFour ? 4 : 0) | size << 4 | coded.count << 14
    return [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16)] + coded + [0]
  }

  @Test(arguments: cases.indices) func brokenRulesAreErrors(index: Int) {
    let (name, coded, error) = Self.cases[index]
    for pieces in [1, 5, Int.max] {
      #expect(Comparison.decode(coded, pieces: pieces).error == error, "\(name), in pieces of \(pieces)")
    }
    #expect(Comparison.difference(coded) == nil, "\(name)")
  }

  /// Overlapping matches, with each of the repeated offsets.
  @Test func overlappingMatchesRepeatTheirPattern() {
    for (offset, bits) in [(1, "00"), (2, "01"), (3, "10")] {
      // Match length code 51: 32,771 bytes and more don't fit; code 40: 67 and 4 bits.
      let coded =
        Bits.header
        + Bits.compressed(
          Self.abc + Bits.sequence(literals: 3, offset: 2, match: 40, bits: bits + "0101"))
      let wanted = [1, 2, 3] + (0..<72).map { UInt8(4 - offset + $0 % offset) }
      #expect(Comparison.decode(coded).bytes == wanted)
    }
  }

  @Test func outputIsLimited() throws {
    let coded = Bits.header + Bits.block(1, size: 1000, [7], isLast: false) + Bits.block(1, size: 1000, [7])
    for (limit, error) in [(2000, nil), (1999, ZstdError.overLimit), (0, .overLimit)] {
      var decoder = ZstdDecoder(windowLimit: 1 << 20, limit: Int64(limit))
      var count = 0
      var thrown: ZstdError?
      do { try decoder.push(coded.span.bytes) { count += $0.byteCount } } catch {
        thrown = error as? ZstdError
      }
      #expect(thrown == error)
      #expect(count == (error == nil ? 2000 : limit / 1000 * 1000))
      // Later calls throw the same error.
      if let error { #expect(throws: error) { try decoder.finish() } }
      if let error { #expect(throws: error) { try decoder.push([1].span.bytes) { _ in } } }
    }
  }

  @Test func trailingBytesAfterOneFrameAreRefused() throws {
    let coded = Bits.header + Bits.block(0, size: 1, [7])
    var decoder = ZstdDecoder(windowLimit: 1 << 20, frames: .one)
    try decoder.push(coded.span.bytes) { _ in }
    let isAtEnd = decoder.isAtEnd
    #expect(isAtEnd)
    #expect(throws: ZstdError.trailing(at: 10)) { try decoder.push([0].span.bytes) { _ in } }
    var other = ZstdDecoder(windowLimit: 1 << 20, frames: .one)
    let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]
    #expect(throws: ZstdError.noFrame(at: 0)) { try other.push(skippable.span.bytes) { _ in } }
  }

  /// An error of the caller's closure is rethrown, and ends decoding.
  @Test func errorsOfTheCallerEndDecoding() {
    struct Full: Error {}
    var decoder = ZstdDecoder(windowLimit: 1 << 20)
    let coded = Bits.header + Bits.block(0, size: 1, [7])
    #expect(throws: Full.self) { try decoder.push(coded.span.bytes) { _ in throw Full() } }
    #expect(throws: ZstdError.self) { try decoder.finish() }
  }

  /// "All dictionary bytes are accessible as long as no more than Window_Size bytes were output" (RFC 8878 §5).
  @Test func dictionariesAreOnlyReachableWithinTheWindow() {
    let dictionary: [UInt8] = [9, 8, 7]
    // Offset 1027 at 1024 bytes, then at 1025.
    let match = Bits.literals([]) + Bits.sequence(literals: 0, offset: 10, match: 0, bits: "0000000110")
    let inReach = Bits.header + Bits.block(1, size: 1024, [5], isLast: false) + Bits.compressed(match)
    let decoded = Comparison.decode(inReach, dictionary: dictionary)
    #expect(decoded.error == nil)
    #expect(decoded.bytes.suffix(4) == [5, 9, 8, 7])
    let out =
      Bits.header + Bits.block(1, size: 1024, [5], isLast: false) + Bits.block(0, size: 1, [5], isLast: false)
      + Bits.compressed(match)
    #expect(Comparison.decode(out, dictionary: dictionary).error == .corrupted(.farOffset, at: 14))
  }

  /// Memory depends on the frame's content size, up to its window.
  @Test func memoryIsBounded() {
    let fixed = Workspace.largestBlock + 2 * Workspace.slack
    let (all, some) = (
      Window(size: 8 << 20, outputLimit: .max).capacity, Window(size: 8 << 20, outputLimit: 100).capacity
    )
    #expect(all == 8 << 20 + fixed)
    #expect(some == 100 + fixed)
  }
}
