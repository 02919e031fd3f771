import Values

/// A change from one resourcemap to another, as an RFC 7396 merge patch.
package struct ManifestPatch: Sendable {
  /// Canonical JSON.
  package let bytes: [UInt8]
  /// The number of URLs in it.
  package let count: Int
}

/// Writes a patch URL by URL, in order, from the old and new entries.
package struct ManifestPatchWriter {
  private var members = ObjectWriter()

  package init() {}

  /// Appends the change of `url`; nothing if both entries are equal or both are nil.
  ///
  /// A changed entry is written whole; members that were removed are null.
  package mutating func append(_ url: ResourceURL, from old: Entry?, to new: Entry?) {
    switch (old, new) {
    case (_?, nil): append(url, now: nil, lost: JSONObject())
    case (nil, let new?): members.append(key: url.text) { new.appendCanonicalJSON(to: &$0) }
    case (let old?, let new?) where old != new:
      append(url, now: new, lost: new.lost(since: old.others))
    default: break
    }
  }

  /// Appends the change of `url` without its old entry: the new entry, or its removal.
  /// - Parameters:
  ///   - url: the URL that changed.
  ///   - entry: the new entry; nil if it was removed.
  ///   - lost: the result of `Entry.lost(since:)`.
  package mutating func append(_ url: ResourceURL, now entry: Entry?, lost: JSONObject) {
    members.append(key: url.text) { out in
      if let entry { entry.appendPatch(lost: lost, to: &out) } else { CanonicalJSON.append(.null, to: &out) }
    }
  }

  /// Returns the patch of everything that was appended.
  package consuming func finish() -> ManifestPatch {
    let count = members.count
    return ManifestPatch(bytes: members.finish(), count: count)
  }
}

extension Entry {
  /// Returns what a merge patch has to remove besides setting this entry (RFC 7396 keeps members that a patch doesn't
  /// name): nulls for the members that were removed. Mostly empty.
  /// - Parameter others: the `others` of the old entry.
  package func lost(since others: JSONObject) -> JSONObject {
    MergePatch.removals(from: others, to: self.others)
  }

  /// Appends the value that turns the old entry into this one: this entry, with `lost`.
  package func appendPatch(lost: JSONObject, to out: inout [UInt8]) {
    guard !lost.isEmpty else { return appendCanonicalJSON(to: &out) }
    CanonicalJSON.append(patch(lost: lost), to: &out)
  }

  /// Returns the value that turns the old entry into this one.
  package func patch(lost: JSONObject) -> JSONValue {
    .object(MergePatch.replacing(by: json.object ?? JSONObject(), without: lost))
  }
}
