import Manifests
import System
import Values

/// One listed URL, and the name under which a device keeps its bytes.
///
/// A device has tens of thousands of them in memory at all times, so anything derivable isn't stored: an origin makes the
/// file's name from the URL, and the download from that, the sha256 and the version (docs/protocol.md §5). Each takes 96 bytes
/// plus the text of its URL.
struct HeldEntry: Hashable, Sendable {
  let url: ResourceURL
  let sha256: SHA256
  let size: Int64
  private let md5: MD5
  private let version: Int64
  private let kind: EntryKind

  /// - Parameters:
  ///   - item: the URL and what the manifest says about it.
  ///   - kinds: the kinds of the entries read so far.
  /// - Throws: `unsafe`, if the download isn't an http(s) URL that ends in a safe file name.
  init(_ item: ManifestItem, sharing kinds: inout EntryKinds) throws(ManifestFault) {
    url = item.url
    sha256 = item.entry.sha256
    size = item.entry.size
    md5 = item.entry.md5
    version = item.entry.version
    kind = try kinds.kind(of: item)
  }

  /// The media type with its parameters.
  var contentType: String { kind.ctype }
  /// The other headers of an answer with its bytes.
  var headers: EntryHeaders { kind.others.isEmpty ? EntryHeaders() : entry.headers }
  /// For which navigations that nothing else answers it answers; none for most entries.
  var fallbacks: PageFallbacks {
    kind.others[PageFallbacks.key] == nil ? PageFallbacks() : entry.fallbacks
  }
  /// Whether updates leave its file out, which is fetched when a page asks for it.
  var isLazy: Bool { kind.others[Entry.lazyKey] != nil }
  /// The bytes that it takes on the disk, assuming the 4 KiB blocks of most file systems.
  var blocks: Int64 { size > .max - 4095 ? .max : (size + 4095) & ~4095 }
  var bytes: FileDigest { FileDigest(md5: md5, sha256: sha256, size: size) }

  /// The name of its file.
  var name: CachedName {
    switch kind.location {
    case .derived: CachedName(of: url)
    case .other(_, let name): name
    }
  }

  /// The absolute URL of its bytes.
  var download: String {
    switch kind.location {
    case .derived(let start): start + Self.downloadEnd(url, sha256, version)
    case .other(let download, _): download
    }
  }

  /// What the manifest says about the URL, rebuilt at each call.
  var entry: Entry {
    Entry(
      ctype: kind.ctype, download: download, md5: md5, sha256: sha256, size: size, version: version,
      others: kind.others)
  }

  /// Returns the end of a download URL as an origin makes it: `/{resource version}/{uuid}/{name}`.
  static func downloadEnd(_ url: ResourceURL, _ sha256: SHA256, _ version: Int64) -> String {
    "/\(version)/\(ResourceUUID(sha256))/\(ResourceFileName(url).escaped)"
  }
}

/// The parts of an entry that many entries of a manifest share.
final class EntryKind: Hashable, Sendable {
  /// The location of an entry's bytes, and the name under which they are kept.
  enum Location: Hashable, Sendable {
    /// The download is `start` followed by `HeldEntry.downloadEnd`; the name is made from the URL.
    case derived(start: String)
    /// Any other safe download.
    case other(download: String, name: CachedName)
  }

  let ctype: String
  let location: Location
  let others: JSONObject

  init(_ entry: Entry, _ location: Location) {
    ctype = entry.ctype
    self.location = location
    others = entry.others
  }

  static func == (a: EntryKind, b: EntryKind) -> Bool {
    a === b || a.location == b.location && a.ctype == b.ctype && a.others == b.others
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ctype)
    hasher.combine(location)
    hasher.combine(others)
  }
}

/// The kinds of a manifest's entries, while it is being read.
struct EntryKinds {
  private var kinds: Set<EntryKind> = []

  /// - Throws: `unsafe`.
  fileprivate mutating func kind(of item: ManifestItem) throws(ManifestFault) -> EntryKind {
    let kind = EntryKind(item.entry, try Self.location(of: item))
    // Its download is its own, so there is nothing to share.
    if case .other = kind.location { return kind }
    return kinds.insert(kind).memberAfterInsert
  }

  private static func location(of item: ManifestItem) throws(ManifestFault) -> EntryKind.Location {
    let download = item.entry.download
    // A space, say, can't be sent in a request.
    guard download.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let address = try? ResourceURL(download),
      let name = CachedName(download: address)
    else {
      throw .unsafe(url: item.url, download: download)
    }
    let end = HeldEntry.downloadEnd(item.url, item.entry.sha256, item.entry.version).utf8
    let start = download.utf8.dropLast(end.count)
    // After a "?" it wouldn't be part of the path, which is where the name is.
    guard download.utf8.suffix(end.count).elementsEqual(end), name == CachedName(of: item.url),
      !start.contains(UInt8(ascii: "?")), !start.contains(UInt8(ascii: "#"))
    else { return .other(download: download, name: name.sharing(item.url)) }
    return .derived(start: String(decoding: start, as: UTF8.self))
  }
}

/// Why a manifest can't be held.
enum ManifestFault: Error, Hashable, Sendable {
  /// The `download` isn't an http(s) URL that ends in a safe file name.
  case unsafe(url: ResourceURL, download: String)
  /// Entries with different bytes need the same file name.
  case sameName(String, urls: [ResourceURL])
}
