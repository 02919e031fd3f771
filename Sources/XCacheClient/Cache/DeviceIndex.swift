import Manifests
import System

/// A manifest as a device holds it: checked, and with a place for each file.
struct DeviceIndex: Sendable {
  let version: ManifestVersion
  /// Of the canonical resourcemap.
  let digest: SHA256
  /// Those of `hosts`, in the order of their URLs.
  let entries: [HeldEntry]
  /// The hosts that the app allows.
  let hosts: HostList
  /// What the manifest lists for other hosts, in the order of the URLs.
  private let others: [ManifestItem]
  /// The bytes that belong under each file name.
  let names: NameTable

  /// What a device holds before its first manifest.
  static func none(_ hosts: HostList) -> DeviceIndex { DeviceIndex(hosts) }

  private init(_ hosts: HostList) {
    self.hosts = hosts
    version = .none
    digest = ResourceMap.empty.digest
    entries = []
    names = NameTable()
    others = []
  }

  /// Takes a manifest whose digest was found to be `digest`.
  init(_ manifest: Manifest, digest: SHA256, hosts: HostList) throws(ManifestFault) {
    var entries: [HeldEntry] = []
    var others: [ManifestItem] = []
    var types: Set<String> = []
    entries.reserveCapacity(manifest.items.count)
    for item in manifest.items {
      if hosts.contains(item.url) {
        // Few types stand for all entries; a text of its own would take 64 bytes of each.
        let type = types.insert(item.entry.ctype).memberAfterInsert
        entries.append(try HeldEntry(item, ctype: type))
      } else {
        others.append(item)
      }
    }
    version = manifest.version
    self.digest = digest
    self.entries = entries
    self.hosts = hosts
    self.others = others
    names = try NameTable(entries)
  }

  /// The manifest as it came. Made anew at each call: few need it, and it would take as much memory as the entries.
  var manifest: Manifest {
    Manifest(
      version: version, items: entries.map { ManifestItem(url: $0.url, entry: $0.entry) } + others)
  }

  /// The first URL that the manifest lists for another host; nil where there is none.
  var foreign: ResourceURL? { others.first?.url }

  /// Entries of other hosts, which are passed over.
  var passedOver: Int { others.count }

  /// Bytes that all listed files will about take of the disk.
  var blocks: Int64 { entries.clampedSum(\.blocks) }

  /// Bytes of all listed files, one that has two names counted twice.
  var totalBytes: Int64 { entries.clampedSum(\.size) }
}

/// Which bytes belong under each file name of a manifest.
struct NameTable: Sendable {
  private let entries: [HeldEntry]
  /// Where in `entries` one of the name is.
  private let places: [CachedName: Int32]

  /// No names.
  init() { (entries, places) = ([], [:]) }

  /// - Throws: `sameName`, where two entries want one name for different bytes.
  init(_ entries: [HeldEntry]) throws(ManifestFault) {
    var places: [CachedName: Int32] = [:]
    places.reserveCapacity(entries.count)
    for (place, entry) in entries.enumerated() {
      guard let other = places.updateValue(Int32(clamping: place), forKey: entry.name),
        entries[Int(other)].sha256 != entry.sha256
      else { continue }
      throw .sameName(entry.name.text, urls: entries.filter { $0.name == entry.name }.map(\.url))
    }
    self.entries = entries
    self.places = places
  }

  /// The bytes under a name; nil where nothing belongs there.
  subscript(name: CachedName) -> SHA256? { places[name].map { entries[Int($0)].sha256 } }

  /// The name as the manifest has it, so that nobody keeps a text of his own.
  func shared(_ name: CachedName) -> CachedName { places[name].map { entries[Int($0)].name } ?? name }
}

extension DeviceIndex {
  /// What `index.json` says besides the manifest: whose it is.
  struct Owner: Hashable, Sendable {
    let app: String
    let channel: String
  }

  /// Rises when an older xcache would misread a folder: an app that was put back to an older build starts from nothing.
  private static let format: Int64 = 1

  /// `index.json`, canonical, so that two devices with one manifest have equal bytes.
  func rendered(for owner: Owner) -> [UInt8] {
    let map = manifest.map.bytes
    var out: [UInt8] = []
    out.reserveCapacity(map.count + 512)
    out += #"{"app":"#.utf8
    CanonicalJSON.append(string: owner.app, to: &out)
    out += #","channel":"#.utf8
    CanonicalJSON.append(string: owner.channel, to: &out)
    out += #","digest":"\#(digest.hex)","format":\#(Self.format),"resourcemap":"#.utf8
    out += map
    out += #","version":"\#(version.text)"}"#.utf8
    return out
  }

  /// Reads `index.json`; nil where its bytes aren't whole, not those that were written, or of another format.
  static func parse(_ bytes: [UInt8], hosts: HostList) -> (owner: Owner, index: DeviceIndex)? {
    guard let file = try? IndexFile(bytes), file.format == format, let app = file.app,
      let channel = file.channel, let version = file.version.flatMap({ ManifestVersion(text: $0) }),
      file.isSorted
    else { return nil }
    let manifest = Manifest(version: version, items: file.items)
    let digest = manifest.map.digest
    guard file.digest == digest.hex, let index = try? DeviceIndex(manifest, digest: digest, hosts: hosts)
    else {
      return nil
    }
    return (Owner(app: app, channel: channel), index)
  }
}

/// The members of an `index.json`, as far as they are there.
private struct IndexFile {
  var app: String?
  var channel: String?
  var digest: String?
  var version: String?
  // Of folders that were made before it was written.
  var format: Int64? = 1
  var items: [ManifestItem] = []

  init(_ bytes: [UInt8]) throws(JSONError) {
    var reader = JSONReader(bytes)
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "app": app = try reader.string()
      case "channel": channel = try reader.string()
      case "digest": digest = try reader.string()
      case "format": format = try reader.value().integer
      case "version": version = try reader.string()
      case "resourcemap": try readMap(&reader)
      default: _ = try reader.value()
      }
    }
    try reader.end()
  }

  private mutating func readMap(_ reader: inout JSONReader) throws(JSONError) {
    try reader.members { (key, reader) throws(JSONError) in
      guard let url = try? ResourceURL(key), url.text == key else { throw .member(key) }
      items.append(ManifestItem(url: url, entry: try Entry(json: reader.value())))
    }
  }

  /// Whether each URL comes once, in the order in which they are written.
  var isSorted: Bool { zip(items, items.dropFirst()).allSatisfy { $0.url < $1.url } }
}
