/// Finds the secrets in a text, which may come in pieces.
///
/// One pass looks up every second group of three bytes in a table of 16 KB: each anchor has at least four bytes, so that one
/// of its first two groups is looked up. Only what the table knows is compared.
struct SecretSearch {
  /// Something that looks like a secret, and where.
  struct Match: Hashable {
    let noun: String
    /// The offset in the text, in bytes.
    let offset: Int
  }

  /// How many bytes before and after an anchor decide whether it is a secret.
  static let context = 8192

  private(set) var matches: [Match] = []
  /// Further ones aren't noted: the file is refused for those it has.
  static let limit = 20

  /// Searches a piece of a text: for anchors that begin in `range`. The bytes around it are read, too.
  /// - Parameters:
  ///   - bytes: the piece.
  ///   - range: the part of it to search.
  ///   - offset: where the piece begins in the text.
  mutating func search(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, at offset: Int) {
    let index = Self.index
    let end = min(range.upperBound, bytes.count - 3)
    index.slots.withUnsafeBufferPointer { slots in
      var position = range.lowerBound
      while position <= end {
        let slot = slots[SecretIndex.hash(bytes[position], bytes[position + 1], bytes[position + 2])]
        if slot != 0 {
          for candidate in index.candidates[Int(slot)] {
            compare(bytes, candidate.pattern, at: position - candidate.skipped, range, offset)
          }
        }
        position += 2
      }
    }
  }

  private mutating func compare(
    _ bytes: UnsafeBufferPointer<UInt8>, _ pattern: Int, at position: Int, _ range: Range<Int>, _ offset: Int
  ) {
    guard range.contains(position), matches.count < Self.limit else { return }
    let pattern = SecretPattern.all[pattern]
    let text = SecretText(bytes)
    guard text.has(pattern.anchor, at: position), pattern.isSecret(text, at: position) else { return }
    let match = Match(noun: pattern.noun, offset: offset + position)
    if !matches.contains(match) { matches.append(match) }
  }

  private static let index = SecretIndex(SecretPattern.all)
}

/// The anchors by three of their bytes.
private struct SecretIndex: Sendable {
  /// A pattern whose anchor has the three bytes after `skipped` others.
  struct Candidate: Sendable {
    let pattern: Int
    let skipped: Int
  }

  /// Indices in `candidates`, by hash; 0 if no anchor has these bytes.
  private(set) var slots = [UInt8](repeating: 0, count: 1 << 14)
  private(set) var candidates: [[Candidate]] = [[]]

  init(_ patterns: [SecretPattern]) {
    for (number, pattern) in patterns.enumerated() {
      for skipped in 0...1 {
        let part = pattern.anchor[skipped..<skipped + 3]
        let hash = Self.hash(part[skipped], part[skipped + 1], part[skipped + 2])
        if slots[hash] == 0 {
          candidates.append([])
          slots[hash] = UInt8(candidates.count - 1)
        }
        candidates[Int(slots[hash])].append(Candidate(pattern: number, skipped: skipped))
      }
    }
  }

  /// Returns 14 bits of a product with an odd constant (Knuth, The Art of Computer Programming 3, §6.4).
  @inline(__always) static func hash(_ a: UInt8, _ b: UInt8, _ c: UInt8) -> Int {
    let key = UInt32(a) | UInt32(b) << 8 | UInt32(c) << 16
    return Int((key &* 0x9E37_79B1) >> 18)
  }
}
