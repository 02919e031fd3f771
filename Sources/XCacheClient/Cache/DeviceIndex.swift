import Manifests
import System

/// A manifest as a device holds it: checked, and with a place for each file.
struct DeviceIndex: Sendable {
  let manifest: Manifest
  /// Of the canonical resourcemap.
  let digest: SHA256
  /// In the order of their URLs.
  let entries: [HeldEntry]
  /// The bytes that belong under each file name.
  let names: [CachedName: SHA256]

  /// What a device holds before its first manifest.
  static let none = DeviceIndex()

  private init() {
    manifest = .empty
    digest = ResourceMap.empty.digest
    entries = []
    names = [:]
  }

  /// Takes a manifest whose digest was found to be `digest`.
  init(_ manifest: Manifest, digest: SHA256) throws(ManifestFault) {
    var entries: [HeldEntry] = []
    entries.reserveCapacity(manifest.items.count)
    for item in manifest.items { entries.append(try HeldEntry(item)) }
    self.manifest = manifest
    self.digest = digest
    self.entries = entries
    names = try Self.names(of: entries)
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

  var version: ManifestVersion { manifest.version }

  /// Bytes of all listed files, one that has two names counted twice.
  var totalBytes: Int64 { entries.clampedSum(\.size) }
}
