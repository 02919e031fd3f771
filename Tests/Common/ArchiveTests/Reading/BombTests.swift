import Testing

@testable import Archive

/// Archives whose unpacked size, or the cost of reading them, is out of proportion to their own size.
@Suite struct BombTests {
  private static func zeros(_ megabytes: Int) -> RawZip.Entry {
    RawZip.Entry("zeros", [UInt8](repeating: 0, count: megabytes << 20), deflate: true)
  }

  @Test func archivesOfAHighRatioAreRefusedBeforeUnpacking() {
    let bomb = RawZip([Self.zeros(20)]).bytes
    #expect(refusal(bomb) == "ratioTooHigh")
    #expect(refusal(bomb, limits: ArchiveLimits(entries: 9, bytes: 1 << 30, maxRatio: 1100)) == nil)
  }

  @Test func smallArchivesOfAHighRatioAreRead() { #expect(refusal(RawZip([Self.zeros(10)]).bytes) == nil) }

  /// Names that are expensive to compare, or whose folders are expensive to create: without a limit, each case took
  /// seconds to minutes.
  @Test(arguments: [("a/", 32_000), ("a/", 1_998), ("\u{301}\u{316}", 16_000)])
  func expensiveNamesAreRefusedAtOnce(part: String, count: Int) {
    let name = "a" + String(repeating: part, count: count)
    let zip = RawZip((0..<50).map { RawZip.Entry("\($0)" + name, "x") }).bytes
    let time = ContinuousClock().measure {
      #expect(["name tooLong", "name tooDeep"].contains(refusal(zip)))
    }
    #expect(time < .seconds(2))
  }

  @Test func limitsApplyToTheWholeArchive() {
    let zip = RawZip((0..<5).map { RawZip.Entry("\($0)", Sample.noise(1000)) }).bytes
    #expect(refusal(zip, limits: ArchiveLimits(entries: 9, bytes: 4999, maxRatio: 200)) == "tooLarge")
    #expect(refusal(zip, limits: ArchiveLimits(entries: 9, bytes: 5000, maxRatio: 200)) == nil)
    #expect(refusal(zip, limits: ArchiveLimits(entries: 4, bytes: 5000, maxRatio: 200)) == "tooMany")
  }

  /// Sizes whose sum exceeds 2^64 are too large: the sum doesn't wrap around.
  @Test func sumOfSizesDoesNotWrap() {
    let huge = UInt64(1) << 63
    var extra: [UInt8] = []
    ZIP64Extra.append([huge, huge], to: &extra)
    let entries = ["a", "b"].map { name in
      RawZip.Entry(name, "x").with {
        $0.size = .max
        $0.compressedSize = .max
        $0.extra = extra
      }
    }
    #expect(refusal(RawZip(entries).bytes) == "tooLarge")
  }

  /// The overlapping kernels of D. Fifield's "A better zip bomb" (2019): each file quotes the next one's header.
  @Test func overlappingEntriesAreRefused() {
    let kernel = RawZip.Entry("z", [UInt8](repeating: 97, count: 2000), deflate: true)
    let tail = kernel.bytes
    // A stored deflate block whose content is the kernel's local header, then the kernel's own stream.
    let header = Array(tail.prefix(LocalFileHeader.size + 1))
    let length = UInt16(header.count)
    var quote: [UInt8] = [0]
    quote.append(number: length)
    quote.append(number: ~length)
    let whole = header + [UInt8](repeating: 97, count: 2000)
    let outer = RawZip.Entry("a", whole).with {
      $0.method = 8
      $0.data = quote
      $0.compressedSize = UInt32(quote.count + tail.count)
    }
    let inner = kernel
    #expect(refusal(RawZip([outer, inner]).bytes) == "overlap")
  }
}
