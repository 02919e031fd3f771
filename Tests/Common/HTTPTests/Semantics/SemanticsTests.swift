import HTTP
import Testing
import TestSupport

@Suite struct HTTPDateTests {
  static let forms: [(String, Int64?)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_199), ("Fri, 29 Feb 2023 00:00:00 GMT", nil),
    ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 6 Nov 1994 08:49:37 GMT", nil), ("", nil), ("Sun,", nil),
    ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("Sun, 06 Nov 1994 08:60:37 GMT", nil),
    ("Sun, 06 Foo 1994 08:49:37 GMT", nil), ("Sun, 32 Nov 1994 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 08:49:37 UTC", nil), ("Sun, 0a Nov 1994 08:49:37 GMT", nil),
    ("Monday, 01-Jan-40 00:00:00 GMT", 2_208_988_800), ("Friday, 01-Jan-99 00:00:00 GMT", 915_148_800),
  ]

  @Test(arguments: forms) func datesAreParsed(_ text: String, _ wanted: Int64?) {
    let bytes = [UInt8](text.utf8)
    #expect(HTTPDate(bytes.span.bytes, now: 1_795_000_000)?.seconds == wanted)
  }

  @Test func datesRoundTrip() {
    var random = SplitMix(seed: 3)
    for _ in 0..<2_000 {
      let seconds = Int64(random.next() % 315_569_520_000) - 62_167_219_200
      let text = HTTPDate(seconds).description
      let bytes = [UInt8](text.utf8)
      #expect(bytes.count == 29)
      #expect(HTTPDate(bytes.span.bytes, now: 0)?.seconds == seconds, "\(text)")
    }
    #expect(HTTPDate(784_111_777).description == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate(.max).description.hasSuffix("9999 23:59:59 GMT"))
  }
}

@Suite struct AcceptEncodingTests {
  static let cases: [(String, [BodyCoding], BodyCoding?)] = [
    ("gzip", [.zstd, .gzip, .identity], .gzip), ("gzip, zstd", [.zstd, .gzip, .identity], .zstd),
    ("gzip;q=1.0, zstd;q=0.9", [.zstd, .gzip], .gzip), ("*", [.zstd, .gzip], .zstd),
    ("*;q=0", [.gzip, .identity], nil), ("identity;q=0", [.identity], nil),
    ("gzip;q=0", [.gzip, .identity], .identity), ("", [.gzip, .identity], .identity),
    ("GZIP ; Q=0.5 , identity;q=0.1", [.gzip, .identity], .gzip), ("x-gzip", [.gzip], .gzip),
    ("identity, gzip;q=0.5", [.gzip, .identity], .identity), ("br, dcz, zstd", [.dcz, .zstd], .dcz),
    ("gzip;q=2", [.gzip, .identity], .identity), ("gzip;q=0.1234", [.gzip, .identity], .identity),
    ("gzip;q=", [.gzip, .identity], .identity), ("gzip;q=0.", [.gzip, .identity], .identity),
    ("gzip;q=1.001", [.gzip, .identity], .identity), ("*;q=0.2, gzip;q=0", [.gzip, .zstd], .zstd),
    (",,gzip,,", [.gzip], .gzip),
  ]

  @Test(arguments: cases) func preferredCoding(
    _ field: String, _ offered: [BodyCoding], _ wanted: BodyCoding?
  ) {
    let bytes = [UInt8](field.utf8)
    #expect(AcceptEncoding(bytes.span.bytes).preferred(offered) == wanted)
  }
}

@Suite struct ByteRangesTests {
  static let cases: [(String, UInt64, ByteRanges)] = [
    ("bytes=0-0", 10, .single(0..<1)), ("bytes=0-", 10, .single(0..<10)),
    ("bytes=5-100", 10, .single(5..<10)),
    ("bytes=-3", 10, .single(7..<10)), ("bytes=-30", 10, .single(0..<10)), ("BYTES=1-2", 10, .single(1..<3)),
    ("bytes=10-", 10, .unsatisfiable), ("bytes=-0", 10, .unsatisfiable), ("bytes=0-", 0, .unsatisfiable),
    ("bytes=-5", 0, .whole), ("bytes=-0", 0, .unsatisfiable), ("bytes=0-1,-5", 0, .whole),
    ("bytes=-99999999999999999999", 0, .whole), ("bytes=-5,-0", 0, .whole),
    ("bytes=99999999999999999999-", 10, .unsatisfiable),
    ("bytes=0-99999999999999999999", 10, .single(0..<10)),
    ("bytes=-99999999999999999999", 10, .single(0..<10)),
    ("bytes=5-4", 10, .whole), ("bytes=", 10, .whole), ("bytes=a-b", 10, .whole), ("bytes=-", 10, .whole),
    ("bytes", 10, .whole), ("items=0-1", 10, .whole), ("bytes=1", 10, .whole), ("bytes=1-2-3", 10, .whole),
    ("bytes=0-1,3-4", 10, .several([0..<2, 3..<5])), ("bytes=3-4, 0-1", 10, .several([3..<5, 0..<2])),
    ("bytes=0-1,20-", 10, .single(0..<2)), ("bytes=20-,30-", 10, .unsatisfiable),
    ("bytes=0-5,3-", 10, .whole), ("bytes=0-1,x", 10, .whole),
    ("bytes=" + (0..<17).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ","), 100, .whole),
  ]

  @Test(arguments: cases) func rangesAreParsed(_ field: String, _ length: UInt64, _ wanted: ByteRanges) {
    let bytes = [UInt8](field.utf8)
    #expect(ByteRanges(bytes.span.bytes, length: length) == wanted)
  }
}

@Suite struct ContentRangeTests {
  @Test func contentRanges() {
    #expect(ContentRange("bytes 0-0/1").map { [$0.start, $0.last, $0.total] } == [0, 0, 1])
    #expect(ContentRange("Bytes  5-9/*").map { [$0.start, $0.last, $0.total] } == [5, 9, nil])
    for text in [
      "bytes 5-4/9", "bytes -4/9", "bytes 5-/9", "bytes +5-6/9", "bytes 5-9/9", "bytes 5-6/9/9", "bytes5-6/9",
      "bytes 99999999999999999999-6/9", "bytes 5-6/", "bytes 5-6/x", "bytes 5-6-7/9",
    ] {
      #expect(ContentRange(text) == nil, "\(text)")
    }
  }

  @Test func writesWhatItReads() {
    let range = ContentRange(3..<7, of: 10)
    #expect(range.description == "bytes 3-6/10" && ContentRange(range.description) == range)
    #expect(ContentRange("bytes 3-6/*")?.description == "bytes 3-6/*")
    #expect(ContentRange.unsatisfied(10) == "bytes */10" && ContentRange("bytes */10") == nil)
  }
}
