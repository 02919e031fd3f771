/// A fingerprint of a file's content: the smallest hashes of its pieces. Files that share many pieces share many
/// hashes.
package struct Sketch: Sendable, Hashable {
  /// The maximum number of hashes.
  package static let limit = 256

  /// The hashes in ascending order, each once.
  package let hashes: [UInt64]

  /// How a file is cut into pieces.
  package enum Cut: Sendable {
    /// After each `;`, `,`, `{`, `}` and newline, for scripts, styles and markup.
    case tokens
    /// At places that the content determines, for bytes of no known grammar.
    case chunks
  }

  /// Creates the sketch of a file's bytes.
  package init(_ bytes: [UInt8], _ cut: Cut) {
    var smallest = SmallestHashes(limit: Self.limit)
    switch cut {
    case .tokens: Tokens.forEachHash(of: bytes) { smallest.insert($0) }
    case .chunks: Chunks.forEachHash(of: bytes) { smallest.insert($0) }
    }
    hashes = smallest.finish()
  }

  /// Decodes a stored sketch; nil if `encoded` isn't one.
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

  /// The sketch as stored: the hashes in little-endian, eight bytes each.
  package var encoded: [UInt8] {
    hashes.flatMap { hash in withUnsafeBytes(of: hash.littleEndian) { Array($0) } }
  }
}

/// Keeps the smallest of many hashes, each once.
struct SmallestHashes {
  private let limit: Int
  private var kept: [UInt64] = []
  /// Hashes above it can no longer be among the smallest.
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
