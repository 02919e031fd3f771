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
  /// What each URL means.
  let urls: URLTable

  /// What a device holds before its first manifest.
  static func none(_ hosts: HostList) -> DeviceIndex {
    do {
      return try DeviceIndex(Builder(hosts), version: .none, digest: ResourceMap.empty.digest)
    } catch {
      fatalError("without an entry nothing is wrong: \(error)")
    }
  }

  /// Takes a manifest whose digest was found to be `digest`.
  init(_ manifest: Manifest, digest: SHA256, hosts: HostList) throws(ManifestFault) {
    var builder = Builder(hosts)
    builder.entries.reserveCapacity(manifest.items.count)
    for item in manifest.items { try builder.add(item) }
    try self.init(builder, version: manifest.version, digest: digest)
  }

  private init(_ builder: Builder, version: ManifestVersion, digest: SHA256) throws(ManifestFault) {
    self.version = version
    self.digest = digest
    entries = builder.entries
    hosts = builder.hosts
    others = builder.others
    names = try NameTable(builder.entries)
    urls = URLTable(builder.entries)
  }

  /// Takes a manifest item by item, in the order of their URLs.
  fileprivate struct Builder {
    let hosts: HostList
    var entries: [HeldEntry] = []
    private(set) var others: [ManifestItem] = []
    private var kinds = EntryKinds()

    init(_ hosts: HostList) { self.hosts = hosts }

    mutating func add(_ item: ManifestItem) throws(ManifestFault) {
      if hosts.contains(item.url) {
        entries.append(try HeldEntry(item, sharing: &kinds))
      } else {
        others.append(item)
      }
    }

    /// The canonical resourcemap of all that was added.
    var map: ResourceMap { DeviceIndex.map(entries, others) }
  }

  private static func map(_ entries: [HeldEntry], _ others: [ManifestItem]) -> ResourceMap {
    var writer = ResourceMapWriter(entries: entries.count + others.count)
    var rest = others[...]
    for entry in entries {
      while let other = rest.first, other.url < entry.url {
        writer.append(other.url, other.entry)
        rest.removeFirst()
      }
      writer.append(entry.url, entry.entry)
    }
    for other in rest { writer.append(other.url, other.entry) }
    return writer.finish()
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
    let map = Self.map(entries, others).bytes
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
    guard let file = try? IndexFile(bytes, hosts), file.format == format, let app = file.app,
      let channel = file.channel, let version = file.version.flatMap({ ManifestVersion(text: $0) })
    else { return nil }
    let digest = file.builder.map.digest
    guard file.digest == digest.hex,
      let index = try? DeviceIndex(file.builder, version: version, digest: digest)
    else { return nil }
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
  var builder: DeviceIndex.Builder

  /// - Throws: also where a URL comes twice, or not in the order in which they are written.
  init(_ bytes: [UInt8], _ hosts: HostList) throws(JSONError) {
    builder = DeviceIndex.Builder(hosts)
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
    var last: ResourceURL?
    // Item by item: what one needs while it is read is free for the next one.
    try reader.members { (key, reader) throws(JSONError) in
      guard let url = try? ResourceURL(key), url.text == key, last.map({ $0 < url }) ?? true else {
        throw .member(key)
      }
      last = url
      let item = ManifestItem(url: url, entry: try Entry(json: reader.value()))
      do throws(ManifestFault) {
        try builder.add(item)
      } catch {
        throw .member(key)
      }
    }
  }
}
