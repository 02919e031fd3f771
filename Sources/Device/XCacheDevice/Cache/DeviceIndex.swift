import Manifests
import System
import Values

/// A manifest as a device holds it: validated, and with a name for each file.
struct DeviceIndex: Sendable {
  let version: ManifestVersion
  /// The SHA-256 of the canonical resourcemap.
  let digest: SHA256
  /// The seed of the rollout by which the device took it; nil for a full version.
  var candidate: String?
  /// The entries for `hosts`, sorted by URL.
  let entries: [HeldEntry]
  /// The hosts in the app's list.
  let hosts: HostList
  /// What the manifest lists for other hosts, sorted by URL.
  private let others: [ManifestItem]
  /// Whether the manifest has lazy entries, of whatever host.
  let hasLazy: Bool
  /// The bytes that belong under each file name.
  let names: NameTable
  /// The entry that each URL matches.
  let urls: URLTable
  /// The page that answers where no entry does.
  let fallbacks: FallbackTable<HeldEntry>

  /// Returns the index of a device without a manifest.
  static func none(_ hosts: HostList) -> DeviceIndex {
    do {
      return try DeviceIndex(Builder(hosts), version: .none, digest: ResourceMap.empty.digest)
    } catch {
      fatalError("without an entry nothing is wrong: \(error)")
    }
  }

  /// Creates an index of a manifest whose computed digest is `digest`.
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
    hasLazy = builder.hasLazy
    names = try NameTable(builder.entries)
    urls = URLTable(builder.entries)
    fallbacks = FallbackTable(
      builder.entries.lazy.compactMap { entry in
        let fallbacks = entry.fallbacks
        return fallbacks.isEmpty ? nil : (entry.url, entry.contentType, fallbacks, entry)
      })
  }

  /// Collects a manifest's items, in the order of their URLs.
  fileprivate struct Builder {
    let hosts: HostList
    var entries: [HeldEntry] = []
    private(set) var others: [ManifestItem] = []
    private(set) var hasLazy = false
    private var kinds = EntryKinds()

    init(_ hosts: HostList) { self.hosts = hosts }

    mutating func add(_ item: ManifestItem) throws(ManifestFault) {
      if item.entry.isLazy { hasLazy = true }
      if hosts.contains(item.url) {
        entries.append(try HeldEntry(item, sharing: &kinds))
      } else {
        others.append(item)
      }
    }

    /// The canonical resourcemap of everything that was added.
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

  /// The manifest as received. Rebuilt at each call: few callers need it, and it would take as much memory as the
  /// entries.
  var manifest: Manifest {
    Manifest(
      version: version, items: entries.map { ManifestItem(url: $0.url, entry: $0.entry) } + others)
  }

  /// The first URL that the manifest lists for another host; nil if there is none.
  var foreign: ResourceURL? { others.first?.url }

  /// The number of entries for other hosts, which are ignored.
  var passedOver: Int { others.count }

  /// The bytes that the files which updates bring take on the disk, approximately.
  var blocks: Int64 { entries.clampedSum { $0.isLazy ? 0 : $0.blocks } }

  /// The total bytes of all listed files; a file with two names counts twice.
  var totalBytes: Int64 { entries.clampedSum(\.size) }
}

extension DeviceIndex {
  /// The app and channel that `index.json` belongs to.
  struct Owner: Hashable, Sendable {
    let app: String
    let channel: String
  }

  /// Rises when an older xcache would misread a folder: an app that was downgraded then starts without a manifest.
  private static let format: Int64 = 1

  /// Returns `index.json` in canonical form, so that two devices with the same manifest have equal bytes.
  func rendered(for owner: Owner) -> [UInt8] {
    let map = Self.map(entries, others).bytes
    var out: [UInt8] = []
    out.reserveCapacity(map.count + 512)
    out += #"{"app":"#.utf8
    CanonicalJSON.append(string: owner.app, to: &out)
    if let candidate {
      out += #","candidate":"#.utf8
      CanonicalJSON.append(string: candidate, to: &out)
    }
    out += #","channel":"#.utf8
    CanonicalJSON.append(string: owner.channel, to: &out)
    out += #","digest":"\#(digest.hex)","format":\#(Self.format),"resourcemap":"#.utf8
    out += map
    out += #","version":"\#(version.text)"}"#.utf8
    return out
  }

  /// Parses `index.json`; nil if it is truncated, altered, or of another format.
  static func parse(_ bytes: [UInt8], hosts: HostList) -> (owner: Owner, index: DeviceIndex)? {
    guard let file = try? IndexFile(bytes, hosts), file.format == format, let app = file.app,
      let channel = file.channel, let version = file.version.flatMap({ ManifestVersion(text: $0) })
    else { return nil }
    let digest = file.builder.map.digest
    guard file.digest == digest.hex,
      var index = try? DeviceIndex(file.builder, version: version, digest: digest)
    else { return nil }
    index.candidate = file.candidate
    return (Owner(app: app, channel: channel), index)
  }
}

/// The members that are present in an `index.json`.
private struct IndexFile {
  var app: String?
  var candidate: String?
  var channel: String?
  var digest: String?
  var version: String?
  // The format of folders made before it was written.
  var format: Int64? = 1
  var builder: DeviceIndex.Builder

  /// - Throws: also if a URL occurs twice, or out of order.
  init(_ bytes: [UInt8], _ hosts: HostList) throws(JSONError) {
    builder = DeviceIndex.Builder(hosts)
    var reader = JSONReader(bytes)
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "app": app = try reader.string()
      case "candidate": candidate = try reader.string()
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
    // Item by item, so that the memory for parsing one is free for the next.
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
