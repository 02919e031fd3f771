import System
import Testing

@testable import Manifests
@testable import Values

@Suite struct PackPartsTests {
  static let numbers: [(Int64, [UInt8])] = [
    (0, [0]), (1, [1]), (127, [0x7F]), (128, [0x80, 1]), (300, [0xAC, 2]),
    (1 << 53 - 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
  ]

  @Test(arguments: numbers) func numbersRoundTrip(number: Int64, bytes: [UInt8]) throws {
    var out: [UInt8] = []
    Varint.append(number, to: &out)
    #expect(out == bytes)
    var reader = VarintReader(bytes)
    #expect(try reader.number() == number)
    #expect(reader.left == 0)
  }

  @Test(
    arguments: [
      [], [0x80], [0x80, 0], [0xFF, 0x80, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x10],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
    ] as [[UInt8]]) func invalidNumbersAreRefused(bytes: [UInt8])
  {
    var reader = VarintReader(bytes)
    #expect(throws: PackFault.self) { try reader.number() }
    #expect(reader.hasRunOut == (bytes.last ?? 0x80 == 0x80))
  }

  private static let head = PackHead(
    base: ManifestVersion(552), version: ManifestVersion(553), baseDigest: SHA256.of([1]),
    digest: SHA256.of([2]),
    records: 679, plainChanges: [UInt8](repeating: 7, count: 70_000), codedChanges: 12_345)

  @Test func headsRoundTrip() throws {
    let bytes = Self.head.bytes
    #expect(bytes.count <= PackHead.longest)
    let read = try #require(try PackHead.read(bytes + [1, 2, 3]))
    #expect(read.head == Self.head)
    #expect(read.length == bytes.count)
    for count in bytes.indices { #expect(try PackHead.read(Array(bytes[..<count])) == nil) }
  }

  @Test func headsSayTheirFormat() throws {
    let partial = PackHead(
      .partial, base: ManifestVersion(1), version: ManifestVersion(2), baseDigest: SHA256.of([]),
      digest: SHA256.of([]), records: 0, plainChanges: [], codedChanges: 0)
    #expect(partial.bytes.starts(with: Array("XPK2".utf8)))
    #expect(try PackHead.read(partial.bytes)?.head == partial)
    #expect(Self.head.bytes.starts(with: Array("XPK1".utf8)))
  }

  /// Bytes that can't begin a head are refused without waiting for more.
  @Test(
    arguments: [
      Array("XPK3".utf8), Array("XPK0".utf8), [0x50, 0x4B], Array("XPK1".utf8) + [0x80, 0],
      Array("XPK1".utf8) + [UInt8](repeating: 0xFF, count: 9),
    ] as [[UInt8]]) func invalidHeadsAreRefusedAtOnce(bytes: [UInt8])
  {
    #expect(throws: PackFault.self) { try PackHead.read(bytes) }
  }

  @Test(arguments: [(0, 1), (5, 5), (6, 5)] as [(Int64, Int64)])
  func versionsMustRise(base: Int64, version: Int64) {
    let head = PackHead(
      base: ManifestVersion(base), version: ManifestVersion(version), baseDigest: SHA256.of([]),
      digest: SHA256.of([]), records: 0, plainChanges: [], codedChanges: 0)
    #expect(throws: PackFault.self) { try PackHead.read(head.bytes) }
  }

  @Test func numberOfRecordsIsLimited() {
    let head = PackHead(
      base: ManifestVersion(1), version: ManifestVersion(2), baseDigest: SHA256.of([]), digest: SHA256.of([]),
      records: PackHead.maxRecords + 1, plainChanges: [], codedChanges: 0)
    #expect(throws: PackFault.self) { try PackHead.read(head.bytes) }
  }

  @Test func recordHeadsRoundTrip() throws {
    for length in [0, 127, 128, 1 << 40] {
      let bytes = PackRecordHead(length: length, sha256: SHA256.of([3])).bytes
      #expect(bytes.count <= PackRecordHead.longest)
      let read = try #require(try PackRecordHead.read(bytes))
      #expect(read.head.length == length)
      #expect(read.head.check == Array(SHA256.of([3]).bytes.prefix(8)))
      for count in bytes.indices { #expect(try PackRecordHead.read(Array(bytes[..<count])) == nil) }
    }
    #expect(throws: PackFault.self) { try PackRecordHead.read([UInt8](repeating: 0xFF, count: 8)) }
  }

  /// A list whose announced size exceeds the limit is refused before any of it is stored.
  @Test func announcedSizesAreChecked() throws {
    for (plain, coded) in [(101, 10), (10, 101)] {
      let head = PackHead(
        base: ManifestVersion(1), version: ManifestVersion(2), baseDigest: SHA256.of([]),
        digest: SHA256.of([]),
        records: 1, plainChanges: [UInt8](repeating: 0, count: plain), codedChanges: coded)
      var parser = PackParser(limit: 100)
      #expect(throws: PackFault.overLimit) { try parser.push(head.bytes.span.bytes) { _ in } }
    }
  }

  private static let sha256 = SHA256.of([1])

  @Test func pathsRoundTrip() throws {
    let path = PackPath(
      channel: .online, app: try AppName("yanxuan"), base: ManifestVersion(552),
      version: ManifestVersion(553),
      sha256: Self.sha256)
    #expect(path.text == "xcache/yanxuan/pack/552-553-\(Self.sha256.hex.prefix(16)).xpk")
    #expect(PackPath(text: path.text) == path)
    #expect(PackPath(download: path.url(publicURL: try BaseURL("https://cdn.example.com/hxm/tech"))) == path)
    #expect(!path.isFirst)
    #expect(PackPath(text: "xcache/yanxuan/pack/0-552-0123456789abcdef.xpk")?.isFirst == true)
  }

  @Test(arguments: [
    "", "xcache/yanxuan/pack/552-553-0123456789abcdef", "xcache/yanxuan/pack/552-553-0123456789abcdeF.xpk",
    "xcache/yanxuan/pack/552-553-0123456789abcde.xpk", "xcache/yanxuan/pack/553-552-0123456789abcdef.xpk",
    "xcache/yanxuan/pack/0-0-0123456789abcdef.xpk", "xcache/yanxuan/pack/0552-553-0123456789abcdef.xpk",
    "xcache/yanxuan/pack/+552-553-0123456789abcdef.xpk", "x/yanxuan/pack/552-553-0123456789abcdef.xpk",
    "xcache/yan xuan/pack/552-553-0123456789abcdef.xpk", "xcache/yanxuan/delta/552-553-0123456789abcdef.xpk",
    "/xcache/yanxuan/pack/552-553-0123456789abcdef.xpk", "xcache/yanxuan/pack/552-553-0123456789abcdef.xpk/",
    "xcache/yanxuan/pack/552-553-0-0123456789abcdef.xpk", "xcache/yanxuan/pack/552--0123456789abcdef.xpk",
  ]) func invalidPathsAreRefused(text: String) { #expect(PackPath(text: text) == nil) }
}
