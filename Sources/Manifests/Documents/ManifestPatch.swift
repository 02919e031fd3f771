/// What turns one manifest's resourcemap into another's, as an RFC 7396 merge patch.
package struct ManifestPatch: Sendable {
  /// Canonical JSON.
  package let bytes: [UInt8]
  /// URLs that it names.
  package let count: Int
}

/// Writes a patch URL by URL, in their order, from the entries at both ends.
package struct ManifestPatchWriter {
  private var members = ObjectWriter()

  package init() {}

  /// Appends what becomes of `url`; nothing where both entries are equal, or there is none.
  ///
  /// A changed entry is written whole; members that it lost are null.
  package mutating func append(_ url: ResourceURL, from old: Entry?, to new: Entry?) {
    switch (old, new) {
    case (_?, nil): append(url, now: nil, lost: JSONObject())
    case (nil, let new?): members.append(key: url.text) { new.appendCanonicalJSON(to: &$0) }
    case (let old?, let new?) where old != new:
      append(url, now: new, lost: new.lost(since: old.others))
    default: break
    }
  }

  /// Appends what became of `url` where the entry before isn't at hand: the entry now, or that it is gone.
  /// - Parameter lost: what `Entry.lost` says of the two.
  package mutating func append(_ url: ResourceURL, now entry: Entry?, lost: JSONObject) {
    members.append(key: url.text) { out in
      if let entry { entry.appendPatch(lost: lost, to: &out) } else { CanonicalJSON.append(.null, to: &out) }
    }
  }

  /// The patch of all that was appended.
  package consuming func finish() -> ManifestPatch {
    let count = members.count
    return ManifestPatch(bytes: members.finish(), count: count)
  }
}

extension Entry {
  /// What a merge patch has to take away beside setting this entry (RFC 7396 keeps members that a patch doesn't name):
  /// nulls for the members that it had before and has no more. Mostly nothing.
  /// - Parameter others: those of the entry before.
  package func lost(since others: JSONObject) -> JSONObject {
    MergePatch.removals(from: others, to: self.others)
  }

  /// Writes the value that makes this entry of the one before: the entry as it is, with `lost`.
  package func appendPatch(lost: JSONObject, to out: inout [UInt8]) {
    guard !lost.isEmpty else { return appendCanonicalJSON(to: &out) }
    CanonicalJSON.append(patch(lost: lost), to: &out)
  }

  /// The same as JSON.
  package func patch(lost: JSONObject) -> JSONValue {
    .object(MergePatch.replacing(by: json.object ?? JSONObject(), without: lost))
  }
}
