/// Cuts text after `; , { }` and newline.
enum Tokens {
  /// Shorter ones, such as `a=b`, aren't distinctive.
  private static let shortest = 6

  static func forEachHash(of bytes: [UInt8], _ body: (UInt64) -> Void) {
    bytes.withUnsafeBufferPointer { bytes in
      var hash = SketchHash.start
      var length = 0
      for byte in bytes {
        hash = SketchHash.adding(byte, to: hash)
        length &+= 1
        guard isEnd[Int(byte)] else { continue }
        if length > shortest { body(SketchHash.finish(hash)) }
        hash = SketchHash.start
        length = 0
      }
      if length > 0 { body(SketchHash.finish(hash)) }
    }
  }

  private static let isEnd: [Bool] = (0..<256).map { ";,{}\n".utf8.contains(UInt8($0)) }
}

/// Cuts bytes where a rolling hash of the last ones says so, so that a piece that moves is cut in the same places
/// (content-defined chunking with a gear hash: Xia et al., "FastCDC", USENIX ATC 2016).
enum Chunks {
  private static let shortest = 32
  private static let longest = 2048
  /// Eight bits that must be zero: about 256 bytes per chunk. The highest bits depend on the most bytes.
  private static let mask: UInt64 = 0xFF << 56

  static func forEachHash(of bytes: [UInt8], _ body: (UInt64) -> Void) {
    bytes.withUnsafeBufferPointer { bytes in
      var gear: UInt64 = 0
      var hash = SketchHash.start
      var length = 0
      for byte in bytes {
        gear = gear &<< 1 &+ table[Int(byte)]
        hash = SketchHash.adding(byte, to: hash)
        length &+= 1
        guard length >= shortest, gear & mask == 0 || length == longest else { continue }
        body(SketchHash.finish(hash))
        hash = SketchHash.start
        length = 0
      }
      if length > 0 { body(SketchHash.finish(hash)) }
    }
  }

  private static let table: [UInt64] = (0..<256).map { SketchHash.finish(UInt64($0) &+ 1) }
}

/// A hash that is fast byte by byte. It must never change, because sketches are stored.
enum SketchHash {
  /// FNV-1a's constants (draft-eastlake-fnv).
  static let start: UInt64 = 0xcbf2_9ce4_8422_2325

  @inline(__always)
  static func adding(_ byte: UInt8, to hash: UInt64) -> UInt64 { (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }

  /// Spreads the hash over all bits (the finaliser of MurmurHash3), so that the smallest are a fair sample.
  @inline(__always)
  static func finish(_ hash: UInt64) -> UInt64 {
    var hash = hash
    hash = (hash ^ hash &>> 33) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash &>> 33) &* 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash &>> 33
  }
}
