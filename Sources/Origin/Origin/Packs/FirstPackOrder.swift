import Manifests
import System
import Values

/// The order of the files in a first pack, so that what is opened first comes first: the pages, then what their bytes name, breadth
/// first, then the rest, of which files of a kind are next to each other.
struct FirstPackOrder {
  /// A file, under one of its URLs.
  struct File: Hashable {
    let sha256: SHA256
    let size: Int64
    fileprivate(set) var url: ResourceURL
    fileprivate(set) var isPage: Bool
    /// Whether its bytes may name other files.
    fileprivate(set) var isText: Bool

    init(_ url: ResourceURL, _ entry: Entry) {
      (sha256, size, self.url) = (entry.sha256, entry.size, url)
      let type = ContentType(entry.ctype)
      isPage = type?.essence == "text/html"
      isText = type?.isCompressible ?? false
    }
  }

  private var files: [File] = []
  private var places: [SHA256: Int] = [:]
  /// The files by the hash of the last segment of a URL's path. Different names with the same hash only change the order.
  private var names: [UInt64: [Int]] = [:]
  private var longestName = 0

  /// The most bytes of a file that are searched for names.
  static let largestSearched = 8 << 20

  /// Adds an entry whose file belongs into the pack.
  mutating func add(_ url: ResourceURL, _ entry: Entry) {
    let new = File(url, entry)
    let place: Int
    if let known = places[new.sha256] {
      place = known
      files[known].isText = files[known].isText || new.isText
      let isBetter = new.isPage && (!files[known].isPage || Self.isShorter(new.url, files[known].url))
      if isBetter { (files[known].url, files[known].isPage) = (new.url, true) }
    } else {
      place = files.count
      places[new.sha256] = place
      files.append(new)
    }
    guard let name = url.path.split(separator: "/", omittingEmptySubsequences: false).last, !name.isEmpty
    else { return }
    longestName = max(longestName, name.utf8.count)
    let hash = name.utf8.reduce(Self.hashStart) { Self.hash($0, $1) }
    if names[hash]?.contains(place) != true { names[hash, default: []].append(place) }
  }

  private static func isShorter(_ a: ResourceURL, _ b: ResourceURL) -> Bool {
    (a.text.utf8.count, a.text) < (b.text.utf8.count, b.text)
  }

  /// Returns the files in order.
  /// - Parameter bytes: returns a file's bytes; nil leaves out what they name.
  func ordered<Failure: Error>(_ bytes: (File) throws(Failure) -> [UInt8]?) throws(Failure) -> [File] {
    var isPlaced = [Bool](repeating: false, count: files.count)
    var order = files.indices.filter { files[$0].isPage }
      .sorted { Self.isShorter(files[$0].url, files[$1].url) }
    for place in order { isPlaced[place] = true }
    var next = 0
    while next < order.count {
      let file = files[order[next]]
      next += 1
      guard file.isText, file.size <= Self.largestSearched, let text = try bytes(file) else { continue }
      for place in named(in: text) where !isPlaced[place] {
        isPlaced[place] = true
        order.append(place)
      }
    }
    let rest = files.indices.filter { !isPlaced[$0] }.map { (place: $0, type: Self.type(files[$0].url)) }
      .sorted { ($0.type, files[$0.place].url) < ($1.type, files[$1.place].url) }
    return (order + rest.map(\.place)).map { files[$0] }
  }

  /// Returns the places of the files whose names are words of a text, in the order of their occurrence.
  private func named(in text: [UInt8]) -> [Int] {
    var found: [Int] = []
    var (hash, count) = (Self.hashStart, 0)
    func end() {
      if count > 0, count <= longestName, let places = names[hash] { found += places }
      (hash, count) = (Self.hashStart, 0)
    }
    for byte in text {
      if Self.isInWord[Int(byte)] {
        hash = Self.hash(hash, byte)
        count += 1
      } else if count > 0 {
        end()
      }
    }
    end()
    return found
  }

  /// The characters that segments of URLs have besides those that end them in texts: quotes, brackets, commas, slashes.
  private static let isInWord: [Bool] = (0..<256).map { byte in
    ASCII.isLetterOrDigit(UInt8(byte)) || "-._~%@+$!".utf8.contains(UInt8(byte))
  }

  /// FNV-1a (draft-eastlake-fnv).
  private static let hashStart: UInt64 = 0xcbf2_9ce4_8422_2325
  private static func hash(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
    (hash ^ UInt64(byte)) &* 0x100_0000_01b3
  }

  /// The extension of a URL's path, in lower case; empty if there is none.
  private static func type(_ url: ResourceURL) -> String {
    let name = url.path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: ".") else { return "" }
    return name[name.index(after: dot)...].lowercased()
  }
}
