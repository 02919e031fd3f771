// What makes deltas needs libzstd.
#if canImport(CZstd)
  import System

  /// Makes the best delta of a file that one of a few bases gives.
  package enum DeltaTrial {
    /// A file that is tried as a base.
    package struct Base: Sendable {
      /// Names the file.
      package let sha256: SHA256
      /// All of it.
      package let bytes: [UInt8]

      package init(sha256: SHA256, bytes: [UInt8]) {
        self.sha256 = sha256
        self.bytes = bytes
      }
    }

    /// A delta, and the file that it needs.
    package struct Delta: Sendable {
      /// The file that it is decoded with.
      package let base: SHA256
      /// The delta itself, in the dcz coding.
      package let coded: [UInt8]
    }

    /// Files above it have no deltas: 64 MiB.
    package static let largestFile = 64 << 20

    /// The largest delta that is worth keeping beside the best plain body of `plain` bytes: 60 %.
    package static func limit(plain: Int) -> Int { plain * 6 / 10 }

    /// The smallest delta; nil where none is at most 60 % of the best plain body.
    ///
    /// Each base is tried at a fast level and the winner compressed well; what is given was decoded again and compared.
    /// - Parameters:
    ///   - plain: bytes of the best plain body.
    ///   - bases: how many there are, and a way to each: one after another is in memory.
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
        // Nearly the same file: no other can be much nearer.
        if coded.count <= Dcz.headerCount + target.count / 100 { break }
      }
      return winner?.base
    }
  }
#endif
