import Manifests
import System
import Trust
import Values

extension ManifestItem {
  /// What a key must be allowed to sign: the URL, and the prefixes of which the page is the fallback.
  var places: [ResourceURL] { [url] + entry.fallbacks.prefixes(of: url) }

  /// Returns the item with another URL, as the origin promotes it: a page's fallbacks move with it. Nil if the origin refuses it.
  func moved(by rewriting: URLRewriting) -> ManifestItem? {
    guard let new = try? rewriting.apply(to: url) else { return nil }
    if entry.fallbacks.isEmpty { return ManifestItem(url: new, entry: entry) }
    guard let fallbacks = try? rewriting.apply(to: entry.fallbacks, of: url, to: new) else { return nil }
    var others = entry.others
    others[PageFallbacks.key] = fallbacks.member
    return ManifestItem(
      url: new,
      entry: Entry(
        ctype: entry.ctype, download: entry.download, md5: entry.md5, sha256: entry.sha256, size: entry.size,
        version: entry.version, others: others))
  }
}

extension BuildFile {
  /// What a key must be allowed to sign.
  var places: [ResourceURL] { [url] + content.fallbacks.prefixes(of: url) }
}

extension BundleContent {
  /// Returns the digest of what is signed of a bundle, from the files that were read here. They are ordered by URL.
  static func digest(of files: [BuildFile]) -> SHA256 {
    var content = BundleContent()
    for file in files {
      content.append(ManifestItem(url: file.url, entry: Entry(file.content, download: "", version: 1)))
    }
    return content.digest()
  }
}
