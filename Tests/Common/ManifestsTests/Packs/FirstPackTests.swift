import Compression
import System
import TestSupport
import Testing

@testable import Manifests
@testable import Values

@Suite struct FirstPackTests {
  private static let files = ["<p>page", "", "script();", "script(); more();"].map { Array($0.utf8) }

  private static func item(_ file: [UInt8]) -> FirstPackItem {
    FirstPackItem(SHA256.of(file), size: Int64(file.count))
  }

  private static func pack(_ files: [[UInt8]] = files, head: FirstPackHead? = nil) throws -> [UInt8] {
    let head = try head ?? FirstPackHead(version: ManifestVersion(552), items: files.map(item))
    return head.bytes + frame(files)
  }

  static func frame(_ files: [[UInt8]]) -> [UInt8] {
    let encoder = PackFrameEncoder(size: files.reduce(0) { $0 + Int64($1.count) }, level: 19)
    var frame: [UInt8] = []
    for file in files { encoder.push(file.span.bytes) { frame += $0.withUnsafeBytes(Array.init) } }
    encoder.finish { frame += $0.withUnsafeBytes(Array.init) }
    return frame
  }

  @Test(arguments: [1, 7, 1 << 20]) func filesComeInOrder(pieces: Int) throws {
    let pack = try Self.pack()
    var device = FirstPackDevice(wanted: Self.files.map { PackSample.digest(of: $0) })
    for start in stride(from: 0, to: pack.count, by: pieces) {
      try device.push(pack[start..<min(start + pieces, pack.count)])
    }
    try device.finish()
    #expect(device.files == Self.files)
  }

  @Test func readersSayHowMuchTheListNeeds() throws {
    let pack = try Self.pack()
    let head = try FirstPackHead(version: ManifestVersion(552), items: Self.files.map(Self.item))
    var reader = FirstPackReader()
    var read: FirstPackHead?
    for (index, byte) in pack.enumerated() {
      // Never more than there is, so that who reads only the list can fetch as much.
      #expect(
        index < head.bytes.count ? (1...head.bytes.count - index).contains(reader.needed) : reader.needed == 0
      )
      let piece = [byte]
      try reader.push(piece.span.bytes) { if case .head(let found) = $0 { read = found } }
    }
    #expect(read == head && read?.total == 33)
  }

  /// The frame is one that any decoder of zstd takes, with a window of 8 MiB at most.
  @Test func framesAreZstd() throws {
    let coded = Self.frame(Self.files)
    let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD] + coded
    #expect(try Zstd.decode(frame, limit: 100) == Self.files.flatMap { $0 })
    #expect(try PackFrame.decode(coded, limit: 33) == Self.files.flatMap { $0 })
    // Decoders take a window of 8 MiB, and no larger one.
    let large = [UInt8](repeating: 7, count: 1 << 20)
    let long = Self.frame(Array(repeating: large, count: 17))
    #expect(try PackFrame.decode(long, limit: 17 << 20).count == 17 << 20)
  }

  static let heads: [(what: String, bytes: [UInt8])] = [
    ("another magic number", Array("XPK1".utf8)), ("another format", Array("XPF2".utf8)),
    ("a number that is longer than needed", Array("XPF1".utf8) + [0x80, 0]),
    ("version 0", Array("XPF1".utf8) + [0, 1, 17]), ("no file", Array("XPF1".utf8) + [1, 0, 0]),
    ("a million files and more", Array("XPF1".utf8) + [1, 0x81, 0x80, 0x40, 17]),
    ("a list that is too short", Array("XPF1".utf8) + [1, 2, 33]),
    ("a list that is too long", Array("XPF1".utf8) + [1, 2, 81]),
    ("a length above 2^53", Array("XPF1".utf8) + [1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x10]),
    (
      "an item that ends too early",
      Array("XPF1".utf8) + [1, 1, 17] + Array(repeating: 9, count: 16) + [0x80]
    ),
    ("bytes behind the last item", Array("XPF1".utf8) + [1, 1, 18] + Array(repeating: 9, count: 18)),
    ("a file twice", Array("XPF1".utf8) + [1, 2, 34] + Array(repeating: 9, count: 34)),
    (
      "more bytes than a number may have",
      Array("XPF1".utf8) + [1, 2, 41] + Array(repeating: 9, count: 16)
        + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F] + Array(repeating: 8, count: 16) + [1]
    ),
  ]

  @Test(arguments: heads.indices) func headsThatCannotBeAreRefused(index: Int) throws {
    let (what, bytes) = Self.heads[index]
    for pieces in [1, 1000] {
      #expect(throws: PackFault.self, "\(what)") {
        var reader = FirstPackReader()
        for start in stride(from: 0, to: bytes.count, by: pieces) {
          let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
          try reader.push(piece.span.bytes) { _ in }
        }
      }
    }
  }

  /// A list that says to be long is refused before it comes, and none is waited for that would be longer than the limit.
  @Test func limitsAreCheckedFirst() throws {
    var reader = FirstPackReader(limit: 3)
    let start = Array(try Self.pack().prefix(9))
    #expect(throws: PackFault.overLimit) { try reader.push(start.span.bytes) { _ in } }
    #expect(throws: PackFault.self) { try FirstPackHead(version: ManifestVersion(1), items: []) }
    #expect(throws: PackFault.self) { try FirstPackHead(version: .none, items: [Self.item([1])]) }
    let twice = [Self.item([1]), Self.item([2]), Self.item([1])]
    #expect(throws: PackFault.self) { try FirstPackHead(version: ManifestVersion(1), items: twice) }
  }

  @Test func everyFlippedBitIsNoticedOrHarmless() throws {
    let pack = try Self.pack()
    for index in pack.indices {
      for bit in 0..<8 {
        var damaged = pack
        damaged[index] ^= 1 << UInt8(bit)
        expectRight(damaged, "bit \(bit) of byte \(index)")
      }
      for value: UInt8 in [0x00, 0x7F, 0x80, 0xFF] {
        var damaged = pack
        damaged[index] = value
        expectRight(damaged, "byte \(index) as \(value)")
      }
    }
  }

  @Test func truncationsAndAdditionsAreNoticed() throws {
    let pack = try Self.pack()
    for count in pack.indices {
      var device = FirstPackDevice(wanted: Self.files.map { PackSample.digest(of: $0) })
      #expect(throws: (any Error).self) {
        try device.push(pack[..<count])
        try device.finish()
      }
    }
    for more: [UInt8] in [[0], [0x28, 0xB5, 0x2F, 0xFD] + Self.frame([[1]])] {
      var device = FirstPackDevice(wanted: [])
      #expect(throws: (any Error).self) {
        try device.push((pack + more)[...])
        try device.finish()
      }
    }
    let shorter = try Self.pack(
      Array(Self.files.dropLast()),
      head: FirstPackHead(version: ManifestVersion(1), items: Self.files.map(Self.item)))
    expectRight(shorter, "a frame of fewer files")
  }

  /// What a device gets of damaged bytes are files of the manifest, whatever it notices.
  private func expectRight(_ pack: [UInt8], _ what: String) {
    var device = FirstPackDevice(wanted: Self.files.map { PackSample.digest(of: $0) })
    try? device.push(pack[...])
    #expect(device.files.allSatisfy { Self.files.contains($0) }, "\(what)")
  }

  @Test(arguments: 0..<8) func randomBytesAreNoticed(seed: Int) throws {
    let pack = try Self.pack()
    var random = SplitMix(seed: UInt64(seed))
    for _ in 0..<300 {
      var damaged = Array(pack.prefix(Int.random(in: 0...pack.count, using: &random)))
      for _ in 0..<Int.random(in: 0..<40, using: &random) {
        damaged.append(UInt8.random(in: 0...255, using: &random))
      }
      expectRight(damaged, "seed \(seed)")
    }
  }
}

/// The part of a device that takes a first pack: files that are wanted are checked and kept, others passed over.
struct FirstPackDevice {
  private(set) var files: [[UInt8]] = []

  private let wanted: [FirstPackItem: FileDigest]
  private var reader = FirstPackReader()
  private var decoding: Decoding?

  private final class Decoding {
    var decoder: PackFrameDecoder
    var cutter: FirstPackFiles
    var item: FirstPackItem?
    var file: [UInt8] = []

    init(_ head: FirstPackHead) {
      decoder = PackFrameDecoder(base: nil, limit: head.total)
      cutter = FirstPackFiles(of: head)
    }
  }

  init(wanted: [FileDigest]) {
    self.wanted = Dictionary(wanted.map { (FirstPackItem($0.sha256, size: $0.size), $0) }) { $1 }
  }

  mutating func push(_ bytes: ArraySlice<UInt8>) throws {
    let bytes = Array(bytes)
    var (reader, decoding, found) = (self.reader, self.decoding, [[UInt8]]())
    defer {
      (self.reader, self.decoding) = (reader, decoding)
      files += found
    }
    try reader.push(bytes.span.bytes) { part in
      switch part {
      case .head(let head): decoding = Decoding(head)
      case .frame(let frame):
        guard let decoding else { return }
        try decoding.decoder.push(frame) { try cut($0, decoding, &found) }
      }
    }
  }

  private func cut(_ bytes: RawSpan, _ decoding: Decoding, _ found: inout [[UInt8]]) throws {
    try decoding.cutter.push(bytes) { part in
      switch part {
      case .begin(_, let item): (decoding.item, decoding.file) = (item, [])
      case .bytes(let bytes): bytes.withUnsafeBytes { decoding.file.append(contentsOf: $0) }
      case .end:
        guard let digest = decoding.item.flatMap({ wanted[$0] }) else { return }
        guard PackSample.digest(of: decoding.file) == digest else {
          throw PackFault.damaged("a file has other bytes")
        }
        found.append(decoding.file)
      }
    }
  }

  mutating func finish() throws {
    guard let decoding else { throw PackFault.damaged("it ends too early") }
    var found: [[UInt8]] = []
    defer { files += found }
    try decoding.decoder.finish()
    try cut(RawSpan(), decoding, &found)
    try decoding.cutter.finish()
  }
}
