import Manifests
import System

/// What the origin holds of a bundle.
package struct RemoteBundle: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let url: String
    package let ctype: String
    package let md5: MD5
    package let sha256: SHA256
    /// Bytes.
    package let size: Int64

    func holds(_ content: ResourceContent) -> Bool {
      sha256 == content.sha256 && md5 == content.md5 && size == content.size && ctype == content.ctype.text
    }
  }

  /// The version of the channel in which the bundle changed last; `none`: it never was.
  package let version: ManifestVersion
  /// By URL, each once.
  package let entries: [Entry]

  package static let none = RemoteBundle(version: .none, entries: [])

  /// Bytes of all entries.
  package var bytes: Int64 { entries.clampedSum(\.size) }

  /// What it is at `version`, after `changes`, sorted by URL: nil takes one away.
  func applying(_ changes: [(url: String, entry: Entry?)], version: ManifestVersion) -> RemoteBundle {
    var merged: [Entry] = []
    merged.reserveCapacity(entries.count + changes.count)
    var old = entries[...]
    for change in changes {
      while let first = old.first, first.url < change.url { merged.append(old.removeFirst()) }
      if old.first?.url == change.url { old.removeFirst() }
      if let entry = change.entry { merged.append(entry) }
    }
    merged.append(contentsOf: old)
    return RemoteBundle(version: version, entries: merged)
  }
}
