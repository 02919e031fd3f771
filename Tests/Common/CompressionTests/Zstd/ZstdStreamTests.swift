import Compression
import Testing

/// libzstd and the decoder in Swift give the same bytes and errors.
@Suite struct ZstdStreamTests {
  static let plain = DczTests.base

  private func decode(
    _ coded: [UInt8], by decoder: ZstdStream.Decoder, base: [UInt8] = [], windowLog: Int = 23,
    limit: Int64 = 1 << 20, isOne: Bool = false, pieces: Int = .max
  ) throws -> [UInt8] {
    var stream = ZstdStream(
      base: base, windowLog: windowLog, limit: limit, frames: isOne ? .one : .all, by: decoder)
    var bytes: [UInt8] = []
    var rest = coded[...]
    while !rest.isEmpty {
      try stream.push(Array(rest.prefix(pieces)).span.bytes) { piece in
        piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
      }
      rest = rest.dropFirst(pieces)
    }
    try stream.finish()
    return bytes
  }

  @Test(arguments: [ZstdStream.Decoder.library, .swift], [1, 1000, Int.max])
  func framesAreDecoded(decoder: ZstdStream.Decoder, pieces: Int) throws {
    let coded =
      Zstd.encode([Self.plain]) + [0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9] + Zstd.encode([[1, 2, 3]])
    let isSame = try decode(coded, by: decoder, pieces: pieces) == Self.plain + [1, 2, 3]
    #expect(isSame)
  }

  @Test(arguments: [ZstdStream.Decoder.library, .swift]) func invalidInputIsRefused(
    decoder: ZstdStream.Decoder
  ) throws {
    let coded = Zstd.encode([Self.plain])
    #expect(throws: CodingError.overLimit) {
      try decode(coded, by: decoder, limit: Int64(Self.plain.count) - 1)
    }
    #expect(throws: CodingError.damaged) { try decode(coded, by: decoder, windowLog: 10, pieces: 9) }
    #expect(throws: CodingError.damaged) { try decode(Array(coded.dropLast()), by: decoder) }
    #expect(throws: CodingError.damaged) { try decode(coded + [0x28], by: decoder) }
    #expect(throws: CodingError.damaged) { try decode(coded + coded, by: decoder, isOne: true) }
    #expect(throws: CodingError.damaged) { try decode([], by: decoder) }
    var other = coded
    other[other.count - 1] ^= 1
    #expect(throws: CodingError.damaged) { try decode(other, by: decoder) }
  }

  @Test(arguments: [ZstdStream.Decoder.library, .swift]) func deltasAreDecoded(decoder: ZstdStream.Decoder)
    throws
  {
    for target in DczTests.targets {
      let delta = try #require(Dcz.encodeWell(target, base: Self.plain, baseSHA256: DczTests.sha256))
      let frame = Array(delta.dropFirst(Dcz.headerCount))
      let isSame = try decode(frame, by: decoder, base: Self.plain, isOne: true, pieces: 777) == target
      #expect(isSame)
    }
  }
}
