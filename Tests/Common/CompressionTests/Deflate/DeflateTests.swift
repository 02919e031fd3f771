import Testing

@testable import Compression

@Suite struct DeflateTests {
  private static func random(_ count: Int, _ seed: UInt64, of letters: Int = 256) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: (state >> 33) % UInt64(letters))
    }
  }

  /// Lines like a manifest's, half of which are digests.
  private static func lines(_ count: Int) -> [UInt8] {
    (0..<count).flatMap { number in
      let hex = random(96, UInt64(number), of: 16).map { String($0, radix: 16) }.joined()
      return Array(
        """
        "https://m.example.com/module-\(number / 100)/part-\(hex.suffix(8)).js":{"ctype":"application/javascript",\
        "download":"https://cdn.example.com/xcache/1/1/1/\(hex.prefix(8))/https%253A%252F%252Fm.example.com%252Fpart-\(hex.suffix(8)).js",\
        "md5":"\(hex.prefix(32))","sha256":"\(hex.suffix(64))","size":\(number % 300),"version":"1"},
        """.utf8)
    }
  }

  private static func deflated(_ pieces: [[UInt8]]) -> [UInt8] {
    var encoder = DeflateEncoder()
    for piece in pieces { encoder.append(piece.span.bytes) }
    return encoder.finish()
  }

  /// Encodes the pieces, and decodes the result with zlib.
  private static func inflated(_ pieces: [[UInt8]]) throws -> [UInt8] {
    let (middle, blocks) = GzipMiddle.code { take in for piece in pieces { take(piece.span.bytes) } }
    let (head, tail) = middle.around([], [])
    return try Gzip.decode(head + blocks + tail, limit: pieces.joined().count)
  }

  static let texts: [[UInt8]] = [
    [], [65], Array("abcdefg".utf8), Array("abcdefghabcdefgh".utf8),
    [UInt8](repeating: 0, count: 1_000_000), random(300_000, 1), random(300_000, 2, of: 2),
    random(300_000, 3, of: 16), lines(2000),
    // Repetitions beyond the window, and just within it.
    random(40_000, 4) + random(40_000, 4), random(32_768, 5) + random(32_768, 5),
    random(32_769, 6) + random(32_769, 6),
    // Matches of every length, up to one more than the longest.
    (0..<270).flatMap { random(270, 7).prefix($0) + [UInt8($0 % 251), UInt8($0 / 251)] },
  ]

  // By index, since arguments are logged in full.
  @Test(arguments: texts.indices) func zlibDecodesIt(_ number: Int) throws {
    let text = Self.texts[number]
    #expect(try Self.inflated([text]) == text)
    // However the input is divided.
    for size in [1, 7, 4096, 131_073] where text.count / size < 100_000 {
      let pieces = stride(from: 0, to: text.count, by: size).map {
        Array(text[$0..<min(text.count, $0 + size)])
      }
      #expect(try Self.inflated(pieces) == text)
    }
  }

  /// With the Fibonacci numbers as counts, the rarest bytes would have codes of more than 15 bits.
  @Test func codeLengthsAreLimited() throws {
    var counts: [UInt32] = [1, 1]
    while counts.count < 24 { counts.append(counts[counts.count - 1] + counts[counts.count - 2]) }
    for limit in [5, 7, 15] {
      let code = HuffmanCode(counts, limit: limit)
      #expect(code.lengths.max().map(Int.init) == limit)
      #expect(code.lengths.reduce(0) { $0 + 1 << (limit - Int($1)) } == 1 << limit)
    }
    var text = counts.prefix(20).enumerated().flatMap { byte, count in
      [UInt8](repeating: UInt8(byte), count: Int(count))
    }
    var state: UInt64 = 8
    for index in text.indices {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text.swapAt(index, Int((state >> 33) % UInt64(text.count)))
    }
    #expect(try Self.inflated([text]) == text)
  }

  /// Also codes of a single symbol, and of none.
  @Test func codesAreComplete() {
    for counts: [UInt32] in [[0, 0, 0], [0, 0, 5], [5, 0, 0], [0, 5, 1]] {
      let code = HuffmanCode(counts, limit: 15)
      #expect(code.lengths.reduce(0) { $0 + ($1 == 0 ? 0 : 1 << (15 - Int($1))) } == 1 << 15)
    }
  }

  @Test func manifestsAreSmallerThanByZlibsDefault() {
    let text = Self.lines(2000)
    #expect(Self.deflated([text]).count < Gzip.encode([text]).count)
  }
}
