import Compression
import Testing

@Suite struct GzipTests {
  private static let text = Array("a line of a script;\n".utf8)

  /// The header has neither a name nor a time (RFC 1952 §2.3), so that the bytes are always the same.
  @Test func outputIsReproducible() {
    let coded = Gzip.encode([Self.text])
    #expect(coded.prefix(4) == [0x1F, 0x8B, 8, 0] && coded[4..<8].allSatisfy { $0 == 0 })
    #expect(Gzip.encode([Self.text]) == coded)
    // However the input is divided.
    #expect(Gzip.encode([Array(Self.text[..<5]), [], Array(Self.text[5...])]) == coded)
  }

  @Test func levelsTradeTimeForSize() throws {
    let long = (0..<4000).flatMap { Array("entry \($0 &* 7919 % 613),".utf8) }
    let (fast, small) = (Gzip.encode([long], level: 1), Gzip.encode([long], level: 9))
    #expect(small.count < fast.count && fast.count < long.count / 2)
    #expect(try Gzip.decode(fast, limit: long.count) == long && Gzip.decode(small, limit: long.count) == long)
  }

  /// A few bytes can expand to a thousand times as many: decoding ends at the limit.
  @Test func decodingStopsAtTheLimit() throws {
    let bomb = Gzip.encode([[UInt8](repeating: 0, count: 10_000_000)], level: 9)
    #expect(bomb.count < 20_000)
    #expect(throws: CodingError.overLimit) { try Gzip.decode(bomb, limit: 9_999_999) }
    #expect(try Gzip.decode(bomb, limit: 10_000_000).count == 10_000_000)
    #expect(try Gzip.decode(Gzip.encode([]), limit: 0) == [])
  }

  @Test func trailingBytesAndTruncationAreRefused() {
    let coded = Gzip.encode([Self.text])
    #expect(throws: CodingError.damaged) { try Gzip.decode(coded + [0], limit: 1000) }
    for length in 0..<coded.count {
      #expect(throws: CodingError.damaged) { try Gzip.decode(Array(coded[..<length]), limit: 1000) }
    }
  }
}
