import Testing
import TestSupport
import Zstd

/// Damaged frames: the same outcome and bytes as libzstd's, except for the rules in `Comparison.isStricter`.
@Suite struct DamageTests {
  /// Small frames of every kind.
  private static let frames: [(coded: [UInt8], dictionary: [UInt8])] = {
    var random = SplitMix(seed: 3)
    func frame(_ count: Int, _ making: Reference.Making) -> (coded: [UInt8], dictionary: [UInt8]) {
      (Reference.encode(Corpus.words(count, &random), making), making.dictionary)
    }
    let run = Reference.encode([UInt8](repeating: 7, count: 2000))
    let base = Corpus.words(2000, &random)
    return [
      frame(0, .init(hasChecksum: true)), frame(30, .init(level: 1)),
      frame(150, .init(level: 3, hasChecksum: true)),
      frame(400, .init(level: 19, hasSize: false)), frame(300, .init(level: 9, hasSize: false, flush: 90)),
      frame(250, .init(level: 19, dictionary: base)),
      (
        Reference.encode(base, .init(level: 19, hasChecksum: true, dictionary: [1] + base + [2])),
        [1] + base + [2]
      ),
      (run, []), (run + [0x53, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9] + run, []),
    ]
  }()

  /// Larger frames, of which only some bits are flipped: with Huffman trees, four streams, own and repeated tables.
  private static let largeFrames: [[UInt8]] = {
    var random = SplitMix(seed: 4)
    return [
      Reference.Making(level: 3), .init(level: 19, hasChecksum: true), .init(level: 1, hasSize: false),
      .init(level: 12, hasSize: false, flush: 3000), .init(level: -3, windowLog: 10),
    ].map { Reference.encode(Corpus.words(12_000, &random), $0) }
  }()

  @Test(arguments: frames.indices) func everyPrefix(index: Int) {
    let (coded, dictionary) = Self.frames[index]
    for count in 0..<coded.count {
      let prefix = Array(coded[..<count])
      let theirs = Reference.decode(
        prefix, dictionary: dictionary, windowLog: Comparison.windowLog, limit: Comparison.limit)
      let ours = Comparison.decode(prefix, dictionary: dictionary)
      // With two frames, the first one alone is valid, too.
      #expect(theirs.isRight == (ours.error == nil))
      #expect(ours.error == nil || ours.error == .truncated)
      #expect(theirs.bytes.starts(with: ours.bytes))
    }
  }

  @Test(arguments: frames.indices) func everyBit(index: Int) {
    var (coded, dictionary) = Self.frames[index]
    for bit in 0..<coded.count * 8 {
      coded[bit / 8] ^= 1 << UInt8(bit % 8)
      let difference = Comparison.difference(coded, dictionary: dictionary)
      #expect(difference == nil, "bit \(bit) of \(coded)")
      coded[bit / 8] ^= 1 << UInt8(bit % 8)
    }
  }

  @Test(arguments: largeFrames.indices) func someBits(index: Int) {
    var coded = Self.largeFrames[index]
    var random = SplitMix(seed: UInt64(index))
    // The first bytes determine how the rest is read.
    let bits = Array(0..<200 * 8) + (0..<400).map { _ in Int(random.next() % UInt64(coded.count * 8)) }
    for bit in bits where bit % 3 == index % 3 {
      coded[bit / 8] ^= 1 << UInt8(bit % 8)
      let difference = Comparison.difference(coded)
      #expect(difference == nil, "bit \(bit) of large frame \(index)")
      coded[bit / 8] ^= 1 << UInt8(bit % 8)
    }
  }
}
