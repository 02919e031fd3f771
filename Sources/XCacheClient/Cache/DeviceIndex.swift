import Manifests
import Platform

/// A manifest as a device holds it: the resourcemap as it came, so that patches and digests fit to the byte, and
/// what is read out of it.
struct DeviceIndex: Sendable {
  let version: ManifestVersion
  /// Of the canonical resourcemap.
  let digest: SHA256
  let map: JSONObject
  /// In the order of the map's URLs.
  let entries: [HeldEntry]
  /// The bytes that belong under each file name.
  let names: [CachedName: SHA256]

  /// What a device holds before its first manifest.
  static let none = DeviceIndex()

  private init() {
    version = .none
    map = JSONObject()
    digest = SHA256.of(JSONValue.object(map).canonical)
    entries = []
    names = [:]
  }

  /// Reads a resourcemap.
  init(version: ManifestVersion, map: JSONObject) throws(ManifestFault) {
    var entries: [HeldEntry] = []
    entries.reserveCapacity(map.count)
    for member in map.members { entries.append(try HeldEntry(url: member.key, json: member.value)) }
    self.version = version
    self.map = map
    self.entries = entries
    names = try Self.names(of: entries)
    digest = SHA256.of(JSONValue.object(map).canonical)
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

  /// The entry listed under exactly this URL.
  func entry(_ url: String) -> HeldEntry? {
    var range = entries.indices
    while let middle = range.middle {
      if UTF8Order.areEqual(entries[middle].url, url) { return entries[middle] }
      range = UTF8Order.precedes(entries[middle].url, url) ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return nil
  }

  /// The resourcemap that `changes`, a patch, makes of this one.
  func patched(by changes: JSONObject) -> JSONObject {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(map.count + changes.count)
    var old = map.members[...]
    for change in changes.members {
      while let next = old.first, UTF8Order.precedes(next.key, change.key) {
        members.append(next)
        old.removeFirst()
      }
      var before = JSONValue.null
      if let next = old.first, UTF8Order.areEqual(next.key, change.key) {
        before = next.value
        old.removeFirst()
      }
      if !change.value.isNull {
        members.append(.init(key: change.key, value: MergePatch.apply(change.value, to: before)))
      }
    }
    return JSONObject(members + old)
  }
}

extension Range<Int> {
  fileprivate var middle: Int? { isEmpty ? nil : lowerBound + count / 2 }
}
