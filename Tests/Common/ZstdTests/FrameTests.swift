import Testing
import TestSupport
import Zstd

/// Frames that libzstd made, with all its making.
@Suite struct FrameTests {
  /// The content and making of frame `number` of 1,000.
  private static func frame(_ number: Int) -> (plain: [UInt8], making: Reference.Making) {
    var random = SplitMix(seed: UInt64(number))
    // Every level at least 28 times; most frames are small, since debug builds decode slowly.
    let levels = [-100, -20, -7, -5, -3, -2, -1] + Array(1...22)
    var making = Reference.Making(level: Int32(levels[number % levels.count]))
    making.hasChecksum = number % 3 == 0
    making.hasSize = number % 2 == 0
    var size = Int(random.next() % [64, 1000, 10_000, 40_000][number / 7 % 4])
    switch number % 10 {
    case 1: making.windowLog = Int32(10 + number / 10 % 8)
    case 3: making.flush = 1 + Int(random.next() % 1000)
    case 5, 7: making.dictionary = Corpus.piece(Int(random.next() % 20_000), &random)
    case 9 where number % 50 == 9:
      // More than a window and a block, so that the window wraps around.
      size = 300_000
      making.windowLog = Int32(10 + number / 50 % 8)
    // With a window of 128 MiB, like the highest levels without a content size.
    case 9: making.isFarSighted = true
    default: break
    }
    if number % 10 == 7 {
      // A dictionary that is almost the file.
      let plain = Corpus.piece(size, &random)
      making.dictionary = plain.reversed() + plain
      return (plain.dropLast(size / 3) + Corpus.piece(100, &random), making)
    }
    return (Corpus.piece(size, &random), making)
  }

  @Test(arguments: 0..<20) func realFrames(part: Int) {
    for number in part * 50..<(part + 1) * 50 {
      let (plain, making) = Self.frame(number)
      let coded = Reference.encode(plain, making)
      for pieces in number % 4 == 0 ? [.max, 1 + number % 700] : [Int.max] {
        let decoded = Comparison.decode(
          coded, dictionary: making.dictionary, pieces: pieces, windowLog: 27)
        let isSame = decoded.bytes == plain
        #expect(
          isSame && decoded.error == nil, "frame \(number), \(making): \(String(describing: decoded.error))")
      }
      let theirs = Reference.decode(
        coded, dictionary: making.dictionary, windowLog: 27, limit: Comparison.limit)
      #expect(theirs.isRight)
    }
  }

  /// Frames and skippable frames, in pieces of several sizes.
  @Test func consecutiveFrames() {
    var random = SplitMix(seed: 1)
    let first = Corpus.piece(700, &random)
    let second = Corpus.piece(300, &random)
    let skippable: [UInt8] = [0x5E, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
    let empty: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]
    let coded =
      empty + Reference.encode(first) + skippable + Reference.encode([])
      + Reference.encode(second, Reference.Making(level: 19, hasChecksum: true)) + skippable
    for pieces in [1, 2, 3, 7, 100, Int.max] {
      let decoded = Comparison.decode(coded, pieces: pieces)
      #expect(decoded.error == nil)
      #expect(decoded.bytes == first + second)
    }
    #expect(Comparison.difference(coded) == nil)
  }

  /// Random bytes, runs and short periods, for blocks and literals of every type.
  @Test func everyKindOfBlock() {
    var random = SplitMix(seed: 2)
    let noise = (0..<140_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let few = (0..<50_000).map { _ in UInt8(random.next() % 3) }
    let zeros = [UInt8](repeating: 0, count: 300_000)
    let periods = (1...20).flatMap { period in (0..<1000).map { UInt8($0 % period) } }
    for plain in [noise, few, zeros, periods, zeros + noise + few + periods + noise.prefix(20_000)] {
      for level: Int32 in [-5, 1, 3, 19] {
        let coded = Reference.encode(plain, Reference.Making(level: level, hasChecksum: true))
        let decoded = Comparison.decode(coded)
        #expect(decoded.error == nil)
        let isSame = decoded.bytes == plain
        #expect(isSame, "level \(level), \(plain.count) bytes")
      }
    }
  }
}
