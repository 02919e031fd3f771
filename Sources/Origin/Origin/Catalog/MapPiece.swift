import Compression
import HTTP

/// A run of members of a rendered resourcemap, `"url":{…},"url":{…}`, in memory as a zstd frame.
///
/// A usual member takes 390 bytes as JSON, of which 80 remain: its digests and its name. Decoding runs at about 2 GB/s, so
/// a run is opened only while it is needed.
final class MapPiece: Sendable {
  /// The number of members in a new piece; one that grows beyond twice as many is split.
  static let usualCount = 128

  /// The number of members.
  let count: Int
  /// The size as JSON, in bytes.
  let byteCount: Int
  let firstURL: [UInt8]
  /// The run as JSON, followed by `lengths` bytes for each member.
  private let frame: [UInt8]

  private init(count: Int, byteCount: Int, firstURL: [UInt8], frame: [UInt8]) {
    self.count = count
    self.byteCount = byteCount
    self.firstURL = firstURL
    self.frame = frame
  }

  /// Decompresses the run.
  func open(_ decoder: ZstdDecompressor) -> OpenMapPiece {
    do throws(CodingError) {
      let bytes = try decoder.decode(frame, count: byteCount + count * OpenMapPiece.lengths)
      return OpenMapPiece(bytes: bytes, byteCount: byteCount, count: count)
    } catch {
      // The frame was written by this class only.
      fatalError("a piece of a manifest in memory is damaged")
    }
  }

  /// Returns the run as sent, preceded by `first`.
  func sent(after first: UInt8) -> SharedBytes {
    SharedBytes([first] + open(ZstdDecompressor()).json)
  }

  /// Renders members one after another.
  struct Builder {
    private var bytes: [UInt8] = []
    private var lengths: [UInt8] = []
    private var firstURL: [UInt8] = []
    private(set) var count = 0
    private let coder = ZstdCompressor(level: 1)

    /// Adds a member; `entry` appends the entry as canonical JSON.
    mutating func append(url: some Collection<UInt8>, entry: (inout [UInt8]) -> Void) {
      if count > 0 { bytes.append(UInt8(ascii: ",")) } else { firstURL = Array(url) }
      count += 1
      bytes.append(UInt8(ascii: "\""))
      bytes.append(contentsOf: url)
      bytes.append(UInt8(ascii: "\""))
      bytes.append(UInt8(ascii: ":"))
      let start = bytes.count
      entry(&bytes)
      for number in [url.count, bytes.count - start] {
        withUnsafeBytes(of: UInt32(number).littleEndian) { lengths.append(contentsOf: $0) }
      }
    }

    mutating func append(url: ArraySlice<UInt8>, entry: ArraySlice<UInt8>) {
      append(url: url) { $0.append(contentsOf: entry) }
    }

    /// Returns the piece of the added members, at least one, and begins the next one.
    mutating func finish() -> MapPiece {
      let byteCount = bytes.count
      bytes.append(contentsOf: lengths)
      let piece = MapPiece(
        count: count, byteCount: byteCount, firstURL: firstURL, frame: coder.encode(bytes))
      bytes.removeAll(keepingCapacity: true)
      lengths.removeAll(keepingCapacity: true)
      count = 0
      return piece
    }
  }
}

/// A decompressed piece of a map.
struct OpenMapPiece {
  private let bytes: [UInt8]
  private let byteCount: Int
  /// The offset of each member's URL, after its quote.
  private let starts: [Int32]

  /// The bytes that follow the run for each member: the lengths of its URL and of its entry, as 32-bit numbers.
  static let lengths = 8

  fileprivate init(bytes: [UInt8], byteCount: Int, count: Int) {
    self.bytes = bytes
    self.byteCount = byteCount
    var starts: [Int32] = []
    starts.reserveCapacity(count)
    var start = 1
    for index in 0..<count {
      starts.append(Int32(start))
      let (url, entry) = Self.lengths(index, bytes, byteCount)
      // A quote, a colon, a comma and the next quote.
      start += url + 2 + entry + 2
    }
    self.starts = starts
  }

  private static func lengths(_ index: Int, _ bytes: [UInt8], _ byteCount: Int) -> (url: Int, entry: Int) {
    let offset = byteCount + index * lengths
    return bytes.withUnsafeBytes {
      (
        Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))),
        Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)))
      )
    }
  }

  var count: Int { starts.count }

  /// The run as JSON.
  var json: ArraySlice<UInt8> { bytes[..<byteCount] }

  func url(_ index: Int) -> ArraySlice<UInt8> {
    let start = Int(starts[index])
    return bytes[start..<start + Self.lengths(index, bytes, byteCount).url]
  }

  func entry(_ index: Int) -> ArraySlice<UInt8> {
    let (url, entry) = Self.lengths(index, bytes, byteCount)
    let start = Int(starts[index]) + url + 2
    return bytes[start..<start + entry]
  }

  func entry(for url: ArraySlice<UInt8>) -> ArraySlice<UInt8>? { index(of: url).map { entry($0) } }

  /// Returns how many URLs precede one; nil if it isn't here.
  func index(of url: ArraySlice<UInt8>) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self.url(middle).lexicographicallyPrecedes(url) { low = middle + 1 } else { high = middle }
    }
    return low < count && self.url(low) == url ? low : nil
  }

  /// Returns what replaces this piece after `changes`: none, one or several pieces.
  func applying(_ changes: ArraySlice<MapChange>, _ builder: inout MapPiece.Builder) -> [MapPiece] {
    var members: [(url: ArraySlice<UInt8>, entry: ArraySlice<UInt8>)] = []
    var index = 0
    for change in changes {
      while index < count, url(index).lexicographicallyPrecedes(change.url) {
        members.append((url(index), entry(index)))
        index += 1
      }
      if index < count, url(index) == change.url[...] { index += 1 }
      if let entry = change.entry { members.append((change.url[...], entry[...])) }
    }
    for index in index..<count { members.append((url(index), entry(index))) }
    guard !members.isEmpty else { return [] }
    // Split evenly if there are too many.
    let cuts = members.count > 2 * MapPiece.usualCount ? members.count / MapPiece.usualCount : 1
    return (0..<cuts).map { cut in
      for member in members[members.count * cut / cuts..<members.count * (cut + 1) / cuts] {
        builder.append(url: member.url, entry: member.entry)
      }
      return builder.finish()
    }
  }
}
