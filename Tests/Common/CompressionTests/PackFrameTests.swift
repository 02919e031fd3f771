import Compression
import System
import Testing

@Suite struct PackFrameTests {
  private static let base = DczTests.base

  /// Decodes a frame that arrives in pieces; returns its content, and the size of the largest piece of it.
  private func decode(_ frame: [UInt8], base: [UInt8]?, pieces: Int, limit: Int64) throws -> ([UInt8], Int) {
    var decoder = PackFrameDecoder(base: base, limit: limit)
    var out: [UInt8] = []
    var largest = 0
    var rest = frame[...]
    while !rest.isEmpty {
      let taken = Array(rest.prefix(pieces))
      try decoder.push(taken.span.bytes) { piece in
        largest = max(largest, piece.byteCount)
        piece.withUnsafeBytes { out.append(contentsOf: $0) }
      }
      rest = rest.dropFirst(pieces)
    }
    try decoder.finish()
    return (out, largest)
  }

  @Test(arguments: DczTests.targets.indices, [1, 13, Int.max]) func framesRoundTrip(index: Int, pieces: Int)
    throws
  {
    let target = DczTests.targets[index]
    for base in [Self.base, nil] {
      for level: Int32? in [nil, 3] {
        let frame = try #require(PackFrame.encode(target, base: base, level: level))
        if base != nil { #expect(frame.count < 200) }
        let isSame = try decode(frame, base: base, pieces: pieces, limit: Int64(target.count)).0 == target
        #expect(isSame)
      }
    }
  }

  @Test func deltasGiveFrames() throws {
    let target = DczTests.targets[4]
    let delta = try #require(Dcz.encodeWell(target, base: Self.base, baseSHA256: DczTests.sha256))
    let frame = try #require(PackFrame.frame(ofDelta: delta))
    let isSame = try PackFrame.decode(frame, base: Self.base, limit: Int64(target.count)) == target
    #expect(isSame)
    #expect(PackFrame.frame(ofDelta: Array(delta.prefix(44))) == nil)
  }

  @Test func damagedInputIsRefused() throws {
    let target = DczTests.targets[4]
    let frame = try #require(PackFrame.encode(target, base: Self.base))
    #expect(throws: CodingError.overLimit) {
      try PackFrame.decode(frame, base: Self.base, limit: Int64(target.count) - 1)
    }
    #expect(throws: CodingError.damaged) {
      try PackFrame.decode(frame + [0], base: Self.base, limit: 1 << 20)
    }
    for count in frame.indices {
      #expect(throws: CodingError.damaged) {
        try PackFrame.decode(Array(frame[..<count]), base: Self.base, limit: 1 << 20)
      }
    }
    // Two frames, and a frame with its magic number.
    #expect(throws: CodingError.damaged) {
      try PackFrame.decode(frame + frame, base: Self.base, limit: 1 << 20)
    }
    let whole = [0x28, 0xB5, 0x2F, 0xFD] + frame
    #expect(throws: CodingError.damaged) { try PackFrame.decode(whole, base: Self.base, limit: 1 << 20) }
  }

  /// A frame whose window is larger than its base allows is refused.
  @Test func windowIsBounded() throws {
    // Window_Descriptor of 2^24 and of 2^23 bytes (RFC 8878 §3.1.1.1.2), then an empty last block.
    #expect(throws: CodingError.damaged) { try PackFrame.decode([0x00, 14 << 3, 1, 0, 0], limit: 1 << 20) }
    #expect(try PackFrame.decode([0x00, 13 << 3, 1, 0, 0], limit: 1 << 20) == [])
    let base = [UInt8](repeating: 1, count: 8 << 20)
    #expect(try PackFrame.decode([0x00, 14 << 3, 1, 0, 0], base: base, limit: 1 << 20) == [])
    #expect(throws: CodingError.damaged) {
      try PackFrame.decode([0x00, 15 << 3, 1, 0, 0], base: base, limit: 1 << 20)
    }
  }

  /// A long run is returned in pieces, and never held as a whole.
  @Test func longRunsAreReturnedInPieces() throws {
    let run = [UInt8](repeating: 9, count: 20 << 20)
    let frame = try #require(PackFrame.encode(run, level: 3))
    #expect(frame.count < 3_000)
    let (out, largest) = try decode(frame, base: nil, pieces: .max, limit: Int64(run.count))
    let isSame = out == run
    #expect(isSame)
    #expect(largest <= 128 << 10)
  }
}
