import Manifests
import System

/// One listed URL, and the name under which a device keeps its bytes.
struct HeldEntry: Hashable, Sendable {
  let url: ResourceURL
  let entry: Entry
  let name: CachedName

  /// - Parameter ctype: the entry's own, where several entries are to share its text.
  /// - Throws: `unsafe`, where the download isn't an http(s) URL that ends in a safe file name.
  init(_ item: ManifestItem, ctype: String? = nil) throws(ManifestFault) {
    guard let address = try? ResourceURL(item.entry.download), let name = CachedName(download: address) else {
      throw .unsafe(url: item.url, download: item.entry.download)
    }
    url = item.url
    entry = ctype.map { item.entry.sharing(ctype: $0) } ?? item.entry
    self.name = name
  }

  var sha256: SHA256 { entry.sha256 }
  var size: Int64 { entry.size }
  /// What it will about take of the disk, in the blocks of most file systems.
  var blocks: Int64 { size > .max - 4095 ? .max : (size + 4095) & ~4095 }
  var bytes: FileDigest { FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size) }
}

/// Why a manifest can't be held.
enum ManifestFault: Error, Hashable, Sendable {
  /// The `download` isn't an http(s) URL that ends in a safe file name.
  case unsafe(url: ResourceURL, download: String)
  /// Entries with different bytes want one file name.
  case sameName(String, urls: [ResourceURL])
}

/// The name under which a device keeps a file: the last component of its download URL, decoded once.
///
/// It comes from the network, so it is one path component that can lead nowhere else: 1 to 255 bytes of UTF-8
/// without `/` and NUL, neither `.` nor `..`.
struct CachedName: Hashable, Sendable {
  let text: String

  /// Nil where `component`, percent-encoded, gives no safe name.
  init?(encoded component: some StringProtocol) {
    guard let bytes = PercentEncoding.decode(component.utf8),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.init(file: text)
  }

  /// Nil where `text` itself is no safe name.
  init?(file text: String) {
    guard (1...255).contains(text.utf8.count), !text.utf8.contains(0), !text.utf8.contains(UInt8(ascii: "/")),
      text != ".", text != ".."
    else { return nil }
    self.text = text
  }

  /// Nil where the last component of the URL's path gives no safe name.
  init?(download url: ResourceURL) {
    let path = url.path
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    self.init(encoded: path[path.utf8.index(after: slash)...])
  }
}

extension Entry {
  /// The same entry with an equal text in place of its own `ctype`, so that many entries share one.
  fileprivate func sharing(ctype: String) -> Entry {
    Entry(
      ctype: ctype, download: download, md5: md5, sha256: sha256, size: size, version: version, others: others
    )
  }
}
