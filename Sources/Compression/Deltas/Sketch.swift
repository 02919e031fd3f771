/// What a file is like: the smallest hashes of its pieces. Files with many pieces in common have many in common.
package struct Sketch: Sendable, Hashable {
  /// Hashes kept at most.
  package static let limit = 256

  /// Ascending, each once.
  package let hashes: [UInt64]

  /// How a file is cut.
  package enum Cut: Sendable {
    /// After each of `; , { }` and newline, as scripts, styles and markup are written.
    case tokens
    /// Where the content itself says, for bytes of no known grammar.
    case chunks
  }

  /// The sketch of a file's bytes.
  package init(_ bytes: [UInt8], _ cut: Cut) {
    var smallest = SmallestHashes(limit: Self.limit)
    switch cut {
    case .tokens: Tokens.forEachHash(of: bytes) { smallest.insert($0) }
    case .chunks: Chunks.forEachHash(of: bytes) { smallest.insert($0) }
    }
    hashes = smallest.finish()
  }

  /// The sketch that `encoded` was made of; nil where it is none.
  package init?(encoded: [UInt8]) {
    guard encoded.count % 8 == 0, encoded.count <= 8 * Self.limit else { return nil }
    let hashes = encoded.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 8).map {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
      }
    }
    guard zip(hashes, hashes.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
    self.hashes = hashes
  }

  /// The hashes as they are stored: eight bytes each, lowest first.
  package var encoded: [UInt8] {
    hashes.flatMap { hash in withUnsafeBytes(of: hash.littleEndian) { Array($0) } }
  }
}

/// Keeps the smallest of many hashes, each once.
struct SmallestHashes {
  private let limit: Int
  private var kept: [UInt64] = []
  /// Hashes above it can't be among the smallest any more.
  private var ceiling = UInt64.max

  init(limit: Int) {
    self.limit = limit
    kept.reserveCapacity(8 * limit)
  }

  @inline(__always)
  mutating func insert(_ hash: UInt64) {
    guard hash <= ceiling else { return }
    kept.append(hash)
    if kept.count == 8 * limit { shrink() }
  }

  private mutating func shrink() {
    kept.sort()
    var count = 0
    for hash in kept where count == 0 || kept[count - 1] != hash {
      kept[count] = hash
      count += 1
      if count == limit { break }
    }
    kept.removeSubrange(count...)
    if count == limit { ceiling = kept[count - 1] }
  }

  mutating func finish() -> [UInt64] {
    shrink()
    return kept
  }
}
