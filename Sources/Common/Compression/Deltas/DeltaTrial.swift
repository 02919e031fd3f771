// Making deltas needs libzstd.
#if canImport(CZstd)
  import System

  /// Makes the best delta of a file over one of several bases.
  package enum DeltaTrial {
    /// A file to try as a base.
    package struct Base: Sendable {
      /// The digest of the file.
      package let sha256: SHA256
      /// The bytes of the file.
      package let bytes: [UInt8]

      package init(sha256: SHA256, bytes: [UInt8]) {
        self.sha256 = sha256
        self.bytes = bytes
      }
    }

    /// A delta, and the base that it needs.
    package struct Delta: Sendable {
      /// The digest of the base.
      package let base: SHA256
      /// The delta, in the dcz coding.
      package let coded: [UInt8]
    }

    /// The size above which files have no deltas: 64 MiB.
    package static let largestFile = 64 << 20

    /// Returns the size of the largest delta worth keeping when the best plain body has `plain` bytes: 60 % of it.
    package static func limit(plain: Int) -> Int { plain * 6 / 10 }

    /// Returns the smallest delta; nil if none is at most 60 % of the best plain body.
    ///
    /// Each base is tried at a fast level, and the winner is compressed at the best one; the result is verified by
    /// decoding it.
    /// - Parameters:
    ///   - target: the bytes of the file.
    ///   - sha256: the digest of the file.
    ///   - plain: the size in bytes of the best plain body.
    ///   - bases: the number of bases.
    ///   - base: returns a base by its index, so that only one at a time is in memory.
    package static func best(
      of target: [UInt8], sha256: SHA256, plain: Int, bases: Int, base: (Int) -> Base?
    ) -> Delta? {
      guard target.count <= largestFile, let winner = winner(target, bases, base) else { return nil }
      guard
        let coded = Dcz.encodeWell(target, base: winner.bytes, baseSHA256: winner.sha256),
        coded.count <= limit(plain: plain),
        let decoded = try? Dcz.decode(
          coded, base: winner.bytes, baseSHA256: winner.sha256, limit: target.count),
        SHA256.of(decoded) == sha256
      else { return nil }
      return Delta(base: winner.sha256, coded: coded)
    }

    private static func winner(_ target: [UInt8], _ count: Int, _ base: (Int) -> Base?) -> Base? {
      var winner: (base: Base, count: Int)?
      for number in 0..<count {
        guard let base = base(number), base.bytes.count <= largestFile,
          let coded = Dcz.encode(target, base: base.bytes, baseSHA256: base.sha256, level: Dcz.fastLevel)
        else { continue }
        if coded.count < winner?.count ?? .max { winner = (base, coded.count) }
        // Nearly the same file: no other base can be much better.
        if coded.count <= Dcz.headerCount + target.count / 100 { break }
      }
      return winner?.base
    }
  }
#endif
