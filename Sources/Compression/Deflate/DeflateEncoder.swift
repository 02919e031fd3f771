/// Deflate (RFC 1951) for text of many lines that are much alike, as a manifest is: twice as fast as zlib's level 4, and
/// a tenth smaller.
///
/// Half of a manifest are digests. zlib looks each of their digits up and finds matches of three and four, which cost more
/// than the digits. Here a match has six bytes at least, one place is remembered for each hash, and the longer nothing is
/// found, the fewer places are looked at; what a match misses at its front is found by going back.
struct DeflateEncoder {
  /// The window, and behind it what came last.
  private var text: [UInt8] = []
  /// Bytes that came before `text`.
  private var dropped = 0
  /// Where what has such a hash was seen last, from the beginning and one more; 0: nowhere.
  private var places = [UInt32](repeating: 0, count: 1 << hashBits)
  private var block = DeflateBlock()
  private var out = BitWriter()

  private static let hashBits = 14
  /// Bytes of the shortest match, and of the hash.
  private static let shortest = 6
  /// "…a distance of up to 32K" (RFC 1951 §2).
  private static let window = 32_768
  /// Probes without a match after which one more byte is passed over with each.
  private static let patience = 16

  /// Codes the next piece; matches end with it.
  mutating func append(_ piece: RawSpan) {
    var start = 0
    while start < piece.byteCount {
      // Places are 32 bits: they begin anew before those are used up.
      if dropped + text.count > 1 << 31 { restart() }
      let end = min(piece.byteCount, start + Self.atOnce)
      slide()
      let from = text.count
      piece.extracting(start..<end).withUnsafeBytes { text.append(contentsOf: $0) }
      code(from: from)
      start = end
    }
  }

  /// Bytes that are taken into `text` at once.
  private static let atOnce = 128 << 10

  /// What was coded, its last block ended at a byte by an empty one (what zlib calls a sync flush); more deflate blocks may
  /// follow.
  mutating func finish() -> [UInt8] {
    block.flush(to: &out)
    out.endAtByte()
    return out.bytes
  }

  /// Forgets all of the text that no match may refer to any more.
  private mutating func slide() {
    let excess = text.count - Self.window
    // Not for each small piece: what is kept is moved.
    guard excess > 3 * Self.window else { return }
    text.removeFirst(excess)
    dropped += excess
  }

  private mutating func restart() {
    text.removeAll(keepingCapacity: true)
    dropped = 0
    for index in places.indices { places[index] = 0 }
  }

  private mutating func code(from start: Int) {
    let dropped = dropped
    text.withUnsafeBytes { text in
      places.withUnsafeMutableBufferPointer { places in
        // Within one call both stay where they are; `at` and each place are below `text.count`.
        var finder = MatchFinder(text, places, dropped: dropped, at: start)
        while let match = finder.next() {
          block.add(literals: UnsafeRawBufferPointer(rebasing: text[match.literals]), to: &out)
          var rest = match.length
          while rest > 0 {
            // None is left that is too short for a match.
            let length = rest <= DeflateBlock.longest ? rest : min(DeflateBlock.longest, rest - 3)
            block.add(match: length, distance: match.distance, to: &out)
            rest -= length
          }
        }
        block.add(literals: UnsafeRawBufferPointer(rebasing: text[finder.rest]), to: &out)
      }
    }
  }

  /// Looks for what came before.
  private struct MatchFinder {
    private let text: UnsafeRawBufferPointer
    private let places: UnsafeMutableBufferPointer<UInt32>
    private let dropped: Int
    private var at: Int
    /// Where what no match has begins.
    private var literals: Int

    init(
      _ text: UnsafeRawBufferPointer, _ places: UnsafeMutableBufferPointer<UInt32>, dropped: Int,
      at start: Int
    ) {
      self.text = text
      self.places = places
      self.dropped = dropped
      at = start
      literals = start
    }

    /// What stands behind the last match.
    var rest: Range<Int> { literals..<text.count }

    /// The next match, and what stands before it.
    mutating func next() -> (literals: Range<Int>, length: Int, distance: Int)? {
      let last = text.count - MemoryLayout<UInt64>.size
      var misses = 0
      while at <= last {
        let word = word(at)
        let earlier = remember(word, at)
        if earlier >= 0, at - earlier <= DeflateEncoder.window, self.word(earlier) == word {
          return match(at, with: earlier)
        }
        misses += 1
        at += 1 + misses / DeflateEncoder.patience
      }
      return nil
    }

    /// The six bytes at a place that has eight.
    @inline(__always) private func word(_ place: Int) -> UInt64 {
      UInt64(littleEndian: text.loadUnaligned(fromByteOffset: place, as: UInt64.self)) << 16
    }

    /// Notes that a word stands at a place.
    /// - Returns: where it, or another one with its hash, stood before; negative: in nothing that is there any more.
    @inline(__always) private func remember(_ word: UInt64, _ place: Int) -> Int {
      let hash = Int(
        truncatingIfNeeded: (word &* 0x9E37_79B1_85EB_CA87) >> UInt64(64 - DeflateEncoder.hashBits))
      defer { places[hash] = UInt32(truncatingIfNeeded: place + dropped + 1) }
      return Int(places[hash]) - 1 - dropped
    }

    /// Where what stands at `place` is no longer what stands `distance` before it.
    @inline(__always) private func end(from place: Int, _ distance: Int) -> Int {
      var end = place
      while end + MemoryLayout<UInt64>.size <= text.count {
        let difference =
          UInt64(littleEndian: text.loadUnaligned(fromByteOffset: end, as: UInt64.self))
          ^ UInt64(littleEndian: text.loadUnaligned(fromByteOffset: end - distance, as: UInt64.self))
        if difference != 0 { return end + difference.trailingZeroBitCount / 8 }
        end += MemoryLayout<UInt64>.size
      }
      while end < text.count, text[end] == text[end - distance] { end += 1 }
      return end
    }

    private mutating func match(_ place: Int, with earlier: Int) -> (
      literals: Range<Int>, length: Int, distance: Int
    ) {
      var (start, before) = (place, earlier)
      while start > literals, before > 0, text[start - 1] == text[before - 1] {
        start -= 1
        before -= 1
      }
      let distance = place - earlier
      let end = self.end(from: place + DeflateEncoder.shortest, distance)
      // The same text is looked for again at its beginning, where some bytes may be passed over.
      let last = text.count - MemoryLayout<UInt64>.size
      for next in start..<start + 3 where next <= last { _ = remember(word(next), next) }
      defer {
        literals = end
        at = end
      }
      return (literals..<start, end - start, distance)
    }
  }
}
