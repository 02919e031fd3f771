import Manifests
import System
import Trust
import Values

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
