import Testing

@testable import Compression

/// Coded documents that are assembled around a middle that was coded once.
@Suite struct MiddleTests {
  static let middles: [[[UInt8]]] = [
    [Array("{}".utf8)], [Array("{".utf8), [], Array("}".utf8)],
    (0..<3000).map { Array("\"https://m.example.com/\($0 * 7919 % 3000).js\":{\"size\":\($0)},".utf8) },
    [[UInt8](repeating: 7, count: 3 << 20)],
    [(0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5 ^ $0) }],
  ]
  static let ends: [(String, String)] = [
    ("", ""), ("{\"code\":200,\"data\":", "}"), (String(repeating: "prefix ", count: 60_000), "s"),
  ]

  @Test(arguments: middles) func gzip(_ pieces: [[UInt8]]) throws {
    let (middle, blocks) = GzipMiddle.code { pieces.feed($0) }
    for (prefix, suffix) in Self.ends.map({ (Array($0.0.utf8), Array($0.1.utf8)) }) {
      let (head, tail) = middle.around(prefix, suffix)
      let wanted = prefix + pieces.joined() + suffix
      #expect(try Gzip.decode(head + blocks + tail, limit: wanted.count) == wanted)
    }
  }

  @Test(arguments: middles) func zstd(_ pieces: [[UInt8]]) throws {
    let (middle, blocks) = ZstdMiddle.code(count: pieces.joined().count) { pieces.feed($0) }
    for (prefix, suffix) in Self.ends.map({ (Array($0.0.utf8), Array($0.1.utf8)) }) {
      let (head, tail) = middle.around(prefix, suffix)
      let wanted = prefix + pieces.joined() + suffix
      #expect(try Zstd.decode(head + blocks + tail, limit: wanted.count) == wanted)
    }
  }

  /// An assembled document is a few dozen bytes larger than one that is coded as a whole.
  @Test func overheadIsSmall() {
    let pieces = Self.middles[2]
    let (prefix, suffix) = (Array(Self.ends[1].0.utf8), Array(Self.ends[1].1.utf8))
    let gzip = GzipMiddle.code { pieces.feed($0) }
    let gzipEnds = gzip.middle.around(prefix, suffix)
    let zstd = ZstdMiddle.code(count: pieces.joined().count) { pieces.feed($0) }
    let zstdEnds = zstd.middle.around(prefix, suffix)
    let whole = [prefix] + pieces + [suffix]
    // `DeflateTests` compares the size of the middle; here only what is around it counts.
    #expect(gzipEnds.head.count + gzipEnds.tail.count < Gzip.encode([prefix, suffix]).count + 100)
    #expect(
      zstdEnds.head.count + zstd.blocks.count + zstdEnds.tail.count < Zstd.encode(whole).count + 200)
  }
}

extension [[UInt8]] {
  fileprivate func feed(_ take: (RawSpan) -> Void) { for piece in self { take(piece.span.bytes) } }
}
