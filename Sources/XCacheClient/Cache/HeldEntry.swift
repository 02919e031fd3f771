import Manifests
import Platform

/// What a device knows of one listed URL: where its bytes come from, which they are, and where they are kept.
struct HeldEntry: Hashable, Sendable {
  /// As the manifest writes it.
  let url: String
  let download: String
  let name: CachedName
  let ctype: String
  let bytes: FileDigest

  var sha256: SHA256 { bytes.sha256 }
  var size: Int64 { bytes.size }

  /// Reads a resourcemap's member; members of the entry that aren't known here are passed over.
  init(url: String, json: JSONValue) throws(ManifestFault) {
    func text(_ key: String) throws(ManifestFault) -> String {
      guard let text = json[key]?.string else { throw .member(url: url, name: key) }
      return text
    }
    guard let md5 = MD5(hex: try text("md5")) else { throw .member(url: url, name: "md5") }
    guard let sha256 = SHA256(hex: try text("sha256")) else { throw .member(url: url, name: "sha256") }
    guard let size = json["size"]?.integer, size >= 0 else { throw .member(url: url, name: "size") }
    let download = try text("download")
    guard let address = try? ResourceURL(download), let name = CachedName(download: address) else {
      throw .unsafe(url: url, download: download)
    }
    self.url = url
    self.download = address.text
    self.name = name
    ctype = try text("ctype")
    bytes = FileDigest(md5: md5, sha256: sha256, size: size)
  }
}

/// Why a resourcemap can't be held.
enum ManifestFault: Error, Hashable, Sendable {
  /// A member of the URL's entry is missing, or isn't what the design says.
  case member(url: String, name: String)
  /// The `download` isn't an http(s) URL that ends in a safe file name.
  case unsafe(url: String, download: String)
  /// Entries with different bytes want one file name.
  case sameName(String, urls: [String])
}
