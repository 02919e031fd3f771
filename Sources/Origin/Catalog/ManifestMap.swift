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

/// A channel's canonical resourcemap (DESIGN §3), rendered, in sorted pieces.
///
/// A release renders only the pieces in which a URL changed and shares the others with the map before it, so its
/// cost follows the change; the digest alone reads every byte.
package struct ManifestMap: Sendable {
  private(set) var pieces: [MapPiece]

  /// URLs.
  package var count: Int { pieces.reduce(0) { $0 + $1.count } }

  /// Bytes of the JSON object, braces included.
  package var byteCount: Int { 2 + pieces.reduce(0) { $0 + $1.bytes.count } + max(0, pieces.count - 1) }

  package static let empty = ManifestMap(pieces: [])

  private init(pieces: [MapPiece]) { self.pieces = pieces }

  /// The map of `entries`, which are sorted by the bytes of their URLs and hold none twice.
  package init(sorted entries: some Sequence<(url: [UInt8], entry: [UInt8])>) {
    var pieces: [MapPiece] = []
    var builder = MapPiece.Builder()
    for (url, entry) in entries {
      builder.append(url: url[...], entry: entry[...])
      if builder.count == MapPiece.usualCount { pieces.append(builder.finish()) }
    }
    if builder.count > 0 { pieces.append(builder.finish()) }
    self.init(pieces: pieces)
  }

  /// The entry of a URL as canonical JSON; nil where the manifest doesn't hold it.
  package func entry(for url: [UInt8]) -> ArraySlice<UInt8>? {
    pieces.isEmpty ? nil : pieces[pieceIndex(for: url[...])].entry(for: url[...])
  }

  /// How many URLs stand before one; nil where the manifest doesn't hold it.
  package func place(of url: [UInt8]) -> Int? {
    guard !pieces.isEmpty else { return nil }
    let piece = pieceIndex(for: url[...])
    guard let place = pieces[piece].place(of: url[...]) else { return nil }
    return pieces[..<piece].reduce(place) { $0 + $1.count }
  }

  /// Every URL, in order; none has a byte that JSON would escape.
  package var urls: [ArraySlice<UInt8>] { pieces.flatMap(\.urls) }

  /// The map after `changes`, which are sorted by URL and name none twice.
  package func applying(_ changes: [MapChange]) -> ManifestMap {
    guard !changes.isEmpty else { return self }
    guard !pieces.isEmpty else {
      return ManifestMap(sorted: changes.lazy.compactMap { change in change.entry.map { (change.url, $0) } })
    }
    var next = pieces
    // From the last piece to the first, so that the places of those before stay.
    var end = changes.count
    while end > 0 {
      let place = pieceIndex(for: changes[end - 1].url[...])
      var start = end - 1
      while start > 0, pieceIndex(for: changes[start - 1].url[...]) == place { start -= 1 }
      next.replaceSubrange(place...place, with: pieces[place].applying(changes[start..<end]))
      end = start
    }
    return ManifestMap(pieces: next)
  }

  /// The SHA-256 of the canonical resourcemap.
  package var digest: SHA256 {
    var hasher = SHA256Hasher()
    forEachPart { hasher.update($0.span.bytes) }
    return hasher.finish()
  }

  /// The JSON object in parts, in order.
  package func forEachPart(_ body: ([UInt8]) -> Void) {
    body([UInt8(ascii: "{")])
    for (index, piece) in pieces.enumerated() {
      if index > 0 { body([UInt8(ascii: ",")]) }
      body(piece.bytes)
    }
    body([UInt8(ascii: "}")])
  }

  /// The piece that holds `url` or would: the last whose first URL is not above it, else the first.
  private func pieceIndex(for url: ArraySlice<UInt8>) -> Int {
    var low = 0
    var high = pieces.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if url.lexicographicallyPrecedes(pieces[middle].firstURL) { high = middle } else { low = middle }
    }
    return low
  }
}
