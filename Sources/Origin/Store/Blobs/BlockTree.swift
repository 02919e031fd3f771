import System

/// The digests of a large blob's blocks, so that a part of it can be checked before it is sent, without the rest.
///
/// It is made while the whole blob is hashed and is only as good as that: `root` binds it to the blob's digest, so what was
/// damaged in `derived.db` counts as missing, and a block that doesn't match is decided by the hash of the whole.
struct BlockTree: Equatable, Sendable {
  /// The bytes of each block but the last: 1 MB.
  static let blockSize = 1 << 20
  /// The size from which on blobs have one: 4 MB, which is hashed in a few milliseconds.
  static let leastSize: Int64 = 4 << 20

  /// The blob.
  let sha256: SHA256
  /// The blob's size in bytes.
  let size: Int64
  /// The SHA-256 of each block, one after the other.
  let digests: [UInt8]

  /// Nil if there isn't a digest for each block.
  init?(of sha256: SHA256, size: Int64, digests: [UInt8]) {
    guard size > 0, digests.count == Self.count(size) * SHA256.byteCount else { return nil }
    self.sha256 = sha256
    self.size = size
    self.digests = digests
  }

  /// The number of blocks of a blob.
  static func count(_ size: Int64) -> Int { Int((size + Int64(blockSize) - 1) / Int64(blockSize)) }

  /// The digest of the blob's digest, its size, and the digests of its blocks.
  var root: SHA256 {
    var bytes = sha256.bytes
    withUnsafeBytes(of: size.bigEndian) { bytes.append(contentsOf: $0) }
    return SHA256.of(bytes + digests)
  }

  /// Whether a block has the bytes that it had when the tree was made.
  func agrees(_ block: Int, with digest: SHA256) -> Bool {
    digests[block * SHA256.byteCount..<(block + 1) * SHA256.byteCount].elementsEqual(digest.bytes)
  }
}

/// Computes the digests of a file's blocks while its bytes pass.
struct BlockHasher: ~Copyable {
  private var block = SHA256Hasher()
  private var filled = 0
  private var digests: [UInt8] = []

  mutating func update(_ bytes: RawSpan) {
    var first = 0
    while first < bytes.byteCount {
      let count = min(BlockTree.blockSize - filled, bytes.byteCount - first)
      block.update(bytes.extracting(first..<first + count))
      filled += count
      first += count
      if filled == BlockTree.blockSize { endBlock() }
    }
  }

  /// Ends the last block, and returns the digests of all.
  mutating func finish() -> [UInt8] {
    if filled > 0 { endBlock() }
    return digests
  }

  private mutating func endBlock() {
    digests += block.finish().bytes
    block = SHA256Hasher()
    filled = 0
  }
}
