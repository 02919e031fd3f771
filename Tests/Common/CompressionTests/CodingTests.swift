import Compression
import Testing

@Suite struct CodingTests {
  static let inputs: [[[UInt8]]] = [
    [], [[]], [Array("hello".utf8)], [Array("hel".utf8), [], Array("lo".utf8)],
    [[UInt8](repeating: 7, count: 300_000), (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }],
  ]

  @Test(arguments: inputs) func gzipRoundTrips(pieces: [[UInt8]]) throws {
    let whole = Array(pieces.joined())
    let coded = Gzip.encode(pieces)
    #expect(try Gzip.decode(coded, limit: whole.count) == whole)
    #expect(coded == Gzip.encode([whole]))
  }

  @Test(arguments: inputs) func zstdRoundTrips(pieces: [[UInt8]]) throws {
    let whole = Array(pieces.joined())
    #expect(try Zstd.decode(Zstd.encode(pieces), limit: whole.count) == whole)
    #expect(try Zstd.decode(Zstd.encode(pieces, level: 19), limit: whole.count) == whole)
  }

  enum Coding: CaseIterable { case gzip, zstd }

  @Test(arguments: Coding.allCases) func damagedInputIsRefused(coding: Coding) {
    let whole = [UInt8](repeating: 7, count: 10_000)
    let coded = coding == .gzip ? Gzip.encode([whole]) : Zstd.encode([whole])
    func decode(_ bytes: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
      coding == .gzip ? try Gzip.decode(bytes, limit: limit) : try Zstd.decode(bytes, limit: limit)
    }
    for cut in [0, 1, coded.count / 2, coded.count - 1] {
      #expect(throws: CodingError.damaged) { try decode(Array(coded.prefix(cut)), limit: 20_000) }
    }
    #expect(throws: CodingError.damaged) { try decode(coded + [0], limit: 20_000) }
    #expect(throws: CodingError.overLimit) { try decode(coded, limit: 9_999) }
  }
}
