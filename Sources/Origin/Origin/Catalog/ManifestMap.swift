import Compression
import HTTP
import System

/// A change to one URL of a manifest.
package struct MapChange: Sendable {
  /// The URL as stored: it has no byte that JSON would escape.
  package let url: [UInt8]
  /// The entry as canonical JSON; nil if the URL was removed.
  package let entry: [UInt8]?
  /// The patch's value in place of the entry, if it has to remove members, too.
  package let patch: [UInt8]?

  package init(url: [UInt8], entry: [UInt8]?, patch: [UInt8]? = nil) {
    self.url = url
    self.entry = entry
    self.patch = patch
  }
}

/// A channel's canonical resourcemap (docs/protocol.md §1), rendered in sorted pieces that are compressed individually.
///
/// A release renders only the pieces in which a URL changed and shares the others with the previous map, so its cost
/// depends on the size of the change; only the digest reads every byte.
package struct ManifestMap: Sendable {
  let pieces: [MapPiece]
  /// The number of URLs.
  package let count: Int
  /// The size of the JSON object in bytes, including braces.
  package let byteCount: Int

  package static let empty = ManifestMap(pieces: [])

  private init(pieces: [MapPiece]) {
    self.pieces = pieces
    count = pieces.reduce(0) { $0 + $1.count }
    byteCount = 2 + pieces.reduce(0) { $0 + $1.byteCount } + max(0, pieces.count - 1)
  }

  /// Creates the map of `entries`, which must be sorted by the bytes of their URLs, without duplicates.
  package init(sorted entries: some Sequence<(url: [UInt8], entry: [UInt8])>) {
    var builder = Builder()
    for (url, entry) in entries { builder.append(url: url) { $0.append(contentsOf: entry) } }
    self = builder.finish()
  }

  /// Makes a map from members added one by one, sorted by the bytes of their URLs, without duplicates.
  package struct Builder {
    private var pieces: [MapPiece] = []
    private var piece = MapPiece.Builder()

    package init() {}

    /// Adds a member; `entry` appends the entry as canonical JSON.
    package mutating func append(url: some Collection<UInt8>, entry: (inout [UInt8]) -> Void) {
      piece.append(url: url, entry: entry)
      if piece.count == MapPiece.usualCount { pieces.append(piece.finish()) }
    }

    /// Returns the map of all added members.
    package consuming func finish() -> ManifestMap {
      if piece.count > 0 { pieces.append(piece.finish()) }
      return ManifestMap(pieces: pieces)
    }
  }

  /// Calls `body` with every URL, in order; none has a byte that JSON would escape.
  package func forEachURL(_ body: (ArraySlice<UInt8>) -> Void) {
    let decoder = ZstdDecompressor()
    for piece in pieces {
      let piece = piece.open(decoder)
      for index in 0..<piece.count { body(piece.url(index)) }
    }
  }

  /// Returns the map after `changes`, which must be sorted by URL, without duplicates.
  package func applying(_ changes: [MapChange]) -> ManifestMap {
    guard !changes.isEmpty else { return self }
    guard !pieces.isEmpty else {
      return ManifestMap(sorted: changes.lazy.compactMap { change in change.entry.map { (change.url, $0) } })
    }
    let decoder = ZstdDecompressor()
    var builder = MapPiece.Builder()
    var next = pieces
    // From the last piece to the first, so that the indexes of earlier pieces stay valid.
    var end = changes.count
    while end > 0 {
      let target = pieceIndex(for: changes[end - 1].url[...])
      var start = end - 1
      while start > 0, pieceIndex(for: changes[start - 1].url[...]) == target { start -= 1 }
      next.replaceSubrange(
        target...target, with: pieces[target].open(decoder).applying(changes[start..<end], &builder))
      end = start
    }
    return ManifestMap(pieces: next)
  }

  /// The SHA-256 of the canonical resourcemap.
  package var digest: SHA256 {
    var hasher = SHA256Hasher()
    forEachPart { hasher.update($0) }
    return hasher.finish()
  }

  /// Calls `body` with the parts of the JSON object, in order, each decompressed when its turn comes.
  package func forEachPart(_ body: (RawSpan) -> Void) {
    body(RawSpan("{"))
    let decoder = ZstdDecompressor()
    for (index, piece) in pieces.enumerated() {
      if index > 0 { body(RawSpan(",")) }
      body(piece.open(decoder).json.span.bytes)
    }
    body(RawSpan("}"))
  }

  /// Returns the JSON object between a prefix and a suffix, produced while it is sent.
  package func body(_ prefix: [UInt8] = [], _ suffix: [UInt8] = []) -> Body {
    guard !pieces.isEmpty else { return .bytes(SharedBytes(prefix + [0x7B, 0x7D] + suffix)) }
    var segments: [BodySegment] = []
    segments.reserveCapacity(pieces.count + 2)
    func add(_ bytes: [UInt8]) {
      if !bytes.isEmpty { segments.append(.bytes(SharedBytes(bytes), 0..<bytes.count)) }
    }
    add(prefix)
    for (index, piece) in pieces.enumerated() {
      let first = index == 0 ? UInt8(ascii: "{") : UInt8(ascii: ",")
      segments.append(.made(MadeBytes(count: 1 + piece.byteCount) { piece.sent(after: first) }))
    }
    add([UInt8(ascii: "}")] + suffix)
    return .segments(segments)
  }

  /// Returns the index of the piece that has or would have `url`: the last whose first URL isn't above it, or else the
  /// first.
  fileprivate func pieceIndex(for url: ArraySlice<UInt8>) -> Int {
    var low = 0
    var high = pieces.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if url.lexicographicallyPrecedes(pieces[middle].firstURL) { high = middle } else { low = middle }
    }
    return low
  }
}

/// Looks up URLs of a map. The last piece used stays open, since the next URL is usually there, too.
///
/// Not thread-safe.
final class MapReader {
  private let map: ManifestMap
  private let decoder = ZstdDecompressor()
  private var open: (index: Int, piece: OpenMapPiece)?

  init(_ map: ManifestMap) { self.map = map }

  /// Returns the entry of a URL as canonical JSON; nil if the manifest doesn't have it.
  func entry(for url: [UInt8]) -> ArraySlice<UInt8>? {
    piece(for: url[...]).flatMap { $0.piece.entry(for: url[...]) }
  }

  /// Returns how many URLs precede one; nil if the manifest doesn't have it.
  func index(of url: [UInt8]) -> Int? {
    guard let (index, piece) = piece(for: url[...]), let inPiece = piece.index(of: url[...]) else {
      return nil
    }
    return map.pieces[..<index].reduce(inPiece) { $0 + $1.count }
  }

  private func piece(for url: ArraySlice<UInt8>) -> (index: Int, piece: OpenMapPiece)? {
    guard !map.pieces.isEmpty else { return nil }
    let index = map.pieceIndex(for: url)
    if let open, open.index == index { return open }
    open = (index, map.pieces[index].open(decoder))
    return open
  }
}
