import System
import Testing

@testable import Compression

@Suite struct StreamDecoderTests {
  private static func code(_ coding: StreamDecoder.Coding, _ bytes: [UInt8]) -> [UInt8] {
    coding == .zstd ? Zstd.encode([bytes]) : Gzip.encode([bytes])
  }

  private static func decode(
    _ coded: [UInt8], _ coding: StreamDecoder.Coding, step: Int, takesOne: Bool = false
  ) throws -> [UInt8] {
    let decoder = StreamDecoder(coding, takesOne: takesOne)
    var out: [UInt8] = []
    for start in stride(from: 0, to: coded.count, by: step) {
      let piece = Array(coded[start..<min(coded.count, start + step)])
      try decoder.decode(piece.span.bytes) { bytes in
        #expect(bytes.byteCount <= 64 << 10)
        bytes.withUnsafeBytes { out.append(contentsOf: $0) }
      }
    }
    try decoder.finish()
    return out
  }

  @Test(arguments: [StreamDecoder.Coding.gzip, .zstd], [0, 1, 1000, 65_536, 65_537, 300_000])
  func decodesPiecesOfAnySize(_ coding: StreamDecoder.Coding, _ count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }
    let coded = Self.code(coding, bytes)
    for step in [1, 7, 4096, .max / 2] { #expect(try Self.decode(coded, coding, step: step) == bytes) }
  }

  @Test(arguments: [StreamDecoder.Coding.gzip, .zstd]) func truncatedInputAndTrailingBytesAreRefused(
    _ coding: StreamDecoder.Coding
  ) {
    let coded = Self.code(coding, Array("some text, some text, some text".utf8))
    for end in coded.indices {
      #expect(throws: CodingError.damaged) { try Self.decode(Array(coded[..<end]), coding, step: 3) }
    }
    for more in [[0], Array(coded.dropLast()), Array(coded.prefix(5)), Array("more".utf8)] {
      for step in [1, 1000] {
        #expect(throws: CodingError.damaged) { try Self.decode(coded + more, coding, step: step) }
      }
    }
  }

  /// "The members simply appear one after another in the file, with no additional information before, between, or after
  /// them" (RFC 1952 §2.2; RFC 8878 §3.1).
  @Test(arguments: [StreamDecoder.Coding.gzip, .zstd]) func severalMembersAreDecoded(
    _ coding: StreamDecoder.Coding
  )
    throws
  {
    let parts = [0, 1, 70_000, 0, 65_536, 5].map { count in
      (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 >> 2) }
    }
    let coded = parts.flatMap { Self.code(coding, $0) }
    for step in [1, 7, 4096, .max / 2] {
      #expect(try Self.decode(coded, coding, step: step) == Array(parts.joined()))
    }
  }

  /// With `takesOne`, whatever follows the last frame is ignored, also if it begins like a frame.
  @Test(arguments: [[], [0], [0x28], [0x28, 0xB5, 0x2F, 0], [0x5A, 0x2A], Array("x some text".utf8)])
  func bytesAfterTheFramesAreIgnored(_ rest: [UInt8]) throws {
    let parts = [70_000, 0, 5].map { [UInt8](repeating: 3, count: $0) }
    let skippable: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
    let coded = skippable + parts.flatMap { Zstd.encode([$0]) + skippable } + rest
    for step in [1, 3, 7, 4096, .max / 2] {
      #expect(try Self.decode(coded, .zstd, step: step, takesOne: true) == Array(parts.joined()))
    }
  }

  /// Steps without output are reported, too.
  @Test func workIsReported() throws {
    let blocks = (0..<100_000).flatMap { _ in [0, 0, 0, 0xFF, 0xFF] as [UInt8] }
    let coded = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + blocks
    var work: [Int] = []
    try StreamDecoder(.gzip).decode(coded.span.bytes, worked: { work.append($0) }) { _ in }
    #expect(work.reduce(0, +) == coded.count)
  }

  /// RFC 8878 §3.1.2.
  @Test func skippableFramesAreSkipped() throws {
    let skippable: [UInt8] = [0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
    let text = Array("some text".utf8)
    for step in [1, 7, 4096] {
      #expect(try Self.decode(skippable + Zstd.encode([text]) + skippable, .zstd, step: step) == text)
    }
  }

  /// Windows of more than 8 MiB are refused (RFC 9659), so that memory is bounded.
  @Test func largeWindowsAreRefused() {
    // Magic, a descriptor with a window, 2^27 bytes of it.
    let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, (27 - 10) << 3, 0x01, 0x00, 0x00]
    #expect(throws: CodingError.windowTooLarge(limit: 8 << 20)) { try Self.decode(frame, .zstd, step: 100) }
  }

  @Test func errorsOfTheReceiverEndDecoding() {
    struct Enough: Error {}
    let coded = Zstd.encode([[UInt8](repeating: 1, count: 1 << 20)])
    var pieces = 0
    #expect(throws: Enough.self) {
      try StreamDecoder(.zstd).decode(coded.span.bytes) { _ in
        pieces += 1
        throw Enough()
      }
    }
    #expect(pieces == 1)
  }
}
