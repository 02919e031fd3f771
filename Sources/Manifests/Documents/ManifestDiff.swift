/// What turns one manifest's resourcemap into another's, as an RFC 7396 merge patch.
package struct ManifestPatch: Sendable {
  /// Canonical JSON.
  package let bytes: [UInt8]
  /// URLs that it names.
  package let count: Int
}

package enum ManifestDiff {
  /// The patch from one list to another, both sorted by URL.
  package static func patch(from old: [ManifestItem], to new: [ManifestItem]) -> ManifestPatch {
    var writer = ManifestPatchWriter()
    SortedPairs.walk(old, new, key: \.url.text) { was, becomes in
      guard let url = (becomes ?? was)?.url else { return }
      writer.append(url, from: was?.entry, to: becomes?.entry)
    }
    return writer.finish()
  }
}
