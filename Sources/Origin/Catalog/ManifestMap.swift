import Compression
import HTTP
import System

/// One URL of a manifest and what became of it.
package struct MapChange: Sendable {
  /// The URL as it is stored: it has no byte that JSON would escape.
  package let url: [UInt8]
  /// The entry as canonical JSON; nil where the URL left.
  package let entry: [UInt8]?
  /// What a patch says in place of the entry, where it has to take members away, too.
  package let patch: [UInt8]?

  package init(url: [UInt8], entry: [UInt8]?, patch: [UInt8]? = nil) {
    self.url = url
    self.entry = entry
    self.patch = patch
  }
}

/// A channel's canonical resourcemap (DESIGN §3), rendered, in sorted pieces, each compressed.
///
/// A release renders only the pieces in which a URL changed and shares the others with the map before it, so its
/// cost follows the change; the digest alone reads every byte.
package struct ManifestMap: Sendable {
  let pieces: [MapPiece]
  /// URLs.
  package let count: Int
  /// Bytes of the JSON object, braces included.
  package let byteCount: Int

  package static let empty = ManifestMap(pieces: [])

  private init(pieces: [MapPiece]) {
    self.pieces = pieces
    count = pieces.reduce(0) { $0 + $1.count }
    byteCount = 2 + pieces.reduce(0) { $0 + $1.byteCount } + max(0, pieces.count - 1)
  }

  /// The map of `entries`, which are sorted by the bytes of their URLs and hold none twice.
  package init(sorted entries: some Sequence<(url: [UInt8], entry: [UInt8])>) {
    var builder = Builder()
    for (url, entry) in entries { builder.append(url: url) { $0.append(contentsOf: entry) } }
    self = builder.finish()
  }

  /// Makes a map of members that come one by one, sorted by the bytes of their URLs, none twice.
  package struct Builder {
    private var pieces: [MapPiece] = []
    private var piece = MapPiece.Builder()

    package init() {}

    /// - Parameter entry: appends the entry as canonical JSON.
    package mutating func append(url: some Collection<UInt8>, entry: (inout [UInt8]) -> Void) {
      piece.append(url: url, entry: entry)
      if piece.count == MapPiece.usualCount { pieces.append(piece.finish()) }
    }

    /// The map of all that was added.
    package consuming func finish() -> ManifestMap {
      if piece.count > 0 { pieces.append(piece.finish()) }
      return ManifestMap(pieces: pieces)
    }
  }

  /// Every URL, in order; none has a byte that JSON would escape.
  package func forEachURL(_ body: (ArraySlice<UInt8>) -> Void) {
    let decoder = ZstdDecompressor()
    for piece in pieces {
      let piece = piece.open(decoder)
      for index in 0..<piece.count { body(piece.url(index)) }
    }
  }

  /// The map after `changes`, which are sorted by URL and name none twice.
  package func applying(_ changes: [MapChange]) -> ManifestMap {
    guard !changes.isEmpty else { return self }
    guard !pieces.isEmpty else {
      return ManifestMap(sorted: changes.lazy.compactMap { change in change.entry.map { (change.url, $0) } })
    }
    let decoder = ZstdDecompressor()
    var builder = MapPiece.Builder()
    var next = pieces
    // From the last piece to the first, so that the places of those before stay.
    var end = changes.count
    while end > 0 {
      let place = pieceIndex(for: changes[end - 1].url[...])
      var start = end - 1
      while start > 0, pieceIndex(for: changes[start - 1].url[...]) == place { start -= 1 }
      next.replaceSubrange(
        place...place, with: pieces[place].open(decoder).applying(changes[start..<end], &builder))
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

  /// The JSON object in parts, in order; each is made when its turn comes.
  package func forEachPart(_ body: (RawSpan) -> Void) {
    body(RawSpan("{"))
    let decoder = ZstdDecompressor()
    for (index, piece) in pieces.enumerated() {
      if index > 0 { body(RawSpan(",")) }
      body(piece.open(decoder).json.span.bytes)
    }
    body(RawSpan("}"))
  }

  /// The JSON object between two ends, made while it is sent.
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

  /// The piece that holds `url` or would: the last whose first URL is not above it, else the first.
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

/// Looks URLs of a map up; the piece that the last one was in stays open, since the next one is mostly there, too.
///
/// One thread at a time uses it.
final class MapReader {
  private let map: ManifestMap
  private let decoder = ZstdDecompressor()
  private var open: (index: Int, piece: OpenMapPiece)?

  init(_ map: ManifestMap) { self.map = map }

  /// The entry of a URL as canonical JSON; nil where the manifest doesn't hold it.
  func entry(for url: [UInt8]) -> ArraySlice<UInt8>? {
    piece(for: url[...]).flatMap { $0.piece.entry(for: url[...]) }
  }

  /// How many URLs stand before one; nil where the manifest doesn't hold it.
  func place(of url: [UInt8]) -> Int? {
    guard let (index, piece) = piece(for: url[...]), let place = piece.place(of: url[...]) else { return nil }
    return map.pieces[..<index].reduce(place) { $0 + $1.count }
  }

  private func piece(for url: ArraySlice<UInt8>) -> (index: Int, piece: OpenMapPiece)? {
    guard !map.pieces.isEmpty else { return nil }
    let index = map.pieceIndex(for: url)
    if let open, open.index == index { return open }
    open = (index, map.pieces[index].open(decoder))
    return open
  }
}
