import Manifests
import Platform

/// A manifest as a device holds it.
struct DeviceIndex: Sendable {
  let version: ManifestVersion
  /// In the order of the URLs' UTF-8 bytes.
  let entries: [HeldEntry]
  /// The bytes that belong under each file name.
  let names: [CachedName: SHA256]
  /// Of the canonical resourcemap.
  let digest: SHA256

  /// What a device holds before its first manifest.
  static let none = DeviceIndex()

  private init() {
    version = .none
    entries = []
    names = [:]
    digest = SHA256.of(Self.resourceMap([]))
  }

  /// Takes entries that are sorted by URL.
  private init(version: ManifestVersion, sorted entries: [HeldEntry]) throws(ManifestFault) {
    self.version = version
    self.entries = entries
    names = try Self.names(of: entries)
    digest = SHA256.of(Self.resourceMap(entries))
  }

  /// Reads a whole resourcemap.
  init(version: ManifestVersion, map: JSONObject) throws(ManifestFault) {
    var entries: [HeldEntry] = []
    entries.reserveCapacity(map.count)
    for member in map.members { entries.append(try HeldEntry(url: member.key, json: member.value)) }
    try self.init(version: version, sorted: entries)
  }

  /// What `changes`, a patch (RFC 7396), makes of `base`.
  init(version: ManifestVersion, patching base: DeviceIndex, with changes: JSONObject) throws(ManifestFault) {
    var entries: [HeldEntry] = []
    entries.reserveCapacity(base.entries.count + changes.count)
    var old = base.entries[...]
    for change in changes.members {
      while let next = old.first, UTF8Order.precedes(next.url, change.key) {
        entries.append(next)
        old.removeFirst()
      }
      var before = JSONValue.null
      if let next = old.first, UTF8Order.areEqual(next.url, change.key) {
        before = next.entry.json
        old.removeFirst()
      }
      if change.value.isNull { continue }
      entries.append(
        try HeldEntry(url: change.key, json: MergePatch.apply(change.value, to: before)))
    }
    try self.init(version: version, sorted: entries + old)
  }

  private static func names(of entries: [HeldEntry]) throws(ManifestFault) -> [CachedName: SHA256] {
    var names: [CachedName: SHA256] = [:]
    names.reserveCapacity(entries.count)
    for entry in entries {
      guard let other = names.updateValue(entry.sha256, forKey: entry.name), other != entry.sha256 else {
        continue
      }
      throw .sameName(entry.name.text, urls: entries.filter { $0.name == entry.name }.map(\.url))
    }
    return names
  }

  /// Bytes of all listed files, one that has two names counted twice.
  var totalBytes: Int64 { entries.reduce(0) { $0 &+ $1.size } }
}

// MARK: - As JSON

extension DeviceIndex {
  /// What `index.json` says besides the manifest: whose it is.
  struct Owner: Hashable, Sendable {
    let app: String
    let channel: String
  }

  /// `index.json`, canonical, so that two devices with one manifest have equal bytes.
  func rendered(for owner: Owner) -> [UInt8] {
    var out = Array(#"{"app":"#.utf8)
    CanonicalJSON.append(string: owner.app, to: &out)
    out += #","channel":"#.utf8
    CanonicalJSON.append(string: owner.channel, to: &out)
    out += #","digest":"\#(digest.hex)","resourcemap":"#.utf8
    Self.appendResourceMap(entries, to: &out)
    out += #","version":"\#(version.text)"}"#.utf8
    return out
  }

  /// Reads `index.json`; nil where its bytes aren't whole, or not those that were written.
  static func parse(_ bytes: [UInt8]) -> (owner: Owner, index: DeviceIndex)? {
    guard let document = try? JSONValue.parse(bytes), let app = document["app"]?.string,
      let channel = document["channel"]?.string, let map = document["resourcemap"]?.object,
      let version = document["version"]?.string.flatMap({ ManifestVersion(text: $0) }),
      let index = try? DeviceIndex(version: version, map: map),
      document["digest"]?.string == index.digest.hex
    else { return nil }
    return (Owner(app: app, channel: channel), index)
  }

  /// The canonical resourcemap.
  private static func resourceMap(_ entries: [HeldEntry]) -> [UInt8] {
    var out: [UInt8] = []
    appendResourceMap(entries, to: &out)
    return out
  }

  private static func appendResourceMap(_ entries: [HeldEntry], to out: inout [UInt8]) {
    out.reserveCapacity(out.count + entries.count * 512)
    out.append(UInt8(ascii: "{"))
    for (i, entry) in entries.enumerated() {
      if i > 0 { out.append(UInt8(ascii: ",")) }
      CanonicalJSON.append(string: entry.url, to: &out)
      out.append(UInt8(ascii: ":"))
      entry.entry.appendCanonicalJSON(to: &out)
    }
    out.append(UInt8(ascii: "}"))
  }
}
