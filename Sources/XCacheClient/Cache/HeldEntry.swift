import Manifests
import System

/// One listed URL, and the name under which a device keeps its bytes.
struct HeldEntry: Hashable, Sendable {
  let url: ResourceURL
  let entry: Entry
  let name: CachedName

  /// - Throws: `unsafe`, where the download isn't an http(s) URL that ends in a safe file name.
  init(_ item: ManifestItem) throws(ManifestFault) {
    guard let address = try? ResourceURL(item.entry.download), let name = CachedName(download: address) else {
      throw .unsafe(url: item.url, download: item.entry.download)
    }
    url = item.url
    entry = item.entry
    self.name = name
  }

  var sha256: SHA256 { entry.sha256 }
  var size: Int64 { entry.size }
  var bytes: FileDigest { FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size) }
}

/// Why a manifest can't be held.
enum ManifestFault: Error, Hashable, Sendable {
  /// The `download` isn't an http(s) URL that ends in a safe file name.
  case unsafe(url: ResourceURL, download: String)
  /// Entries with different bytes want one file name.
  case sameName(String, urls: [ResourceURL])
}
