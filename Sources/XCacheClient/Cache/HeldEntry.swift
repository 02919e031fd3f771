import Manifests
import Platform

/// One listed URL, and the name under which a device keeps its bytes.
struct HeldEntry: Hashable, Sendable {
  /// As the manifest writes it.
  let url: String
  let entry: Entry
  let name: CachedName

  /// - Throws: `unsafe`, where the download isn't an http(s) URL that ends in a safe file name.
  init(url: String, _ entry: Entry) throws(ManifestFault) {
    guard let address = try? ResourceURL(entry.download), let name = CachedName(download: address) else {
      throw .unsafe(url: url, download: entry.download)
    }
    self.url = url
    self.entry = entry
    self.name = name
  }

  /// Reads a resourcemap's member.
  init(url: String, json: JSONValue) throws(ManifestFault) {
    let entry: Entry
    do {
      entry = try Entry(json: json)
    } catch {
      throw .entry(url: url, error)
    }
    try self.init(url: url, entry)
  }

  var sha256: SHA256 { entry.sha256 }
  var size: Int64 { entry.size }
  var bytes: FileDigest { FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size) }
}

/// Why a resourcemap can't be held.
enum ManifestFault: Error, Hashable, Sendable {
  /// The URL's entry isn't what the design says.
  case entry(url: String, JSONError)
  /// The `download` isn't an http(s) URL that ends in a safe file name.
  case unsafe(url: String, download: String)
  /// Entries with different bytes want one file name.
  case sameName(String, urls: [String])
}
