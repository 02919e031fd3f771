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
  /// A changed entry is written whole, so that a client may as well take it as it stands; members that it
  /// lost are null.
  package mutating func append(_ url: ResourceURL, from old: Entry?, to new: Entry?) {
    switch (old, new) {
    case (_?, nil): append(url, now: nil)
    case (nil, let new?): members.append(key: url.text) { new.appendCanonicalJSON(to: &$0) }
    case (let old?, let new?) where old != new:
      members.append(key: url.text) { Self.append(new, after: old, to: &$0) }
    default: break
    }
  }

  /// Appends what became of `url` where the entry before isn't at hand: the entry now, or that it is gone.
  package mutating func append(_ url: ResourceURL, now entry: Entry?) {
    members.append(key: url.text) { out in
      if let entry { entry.appendCanonicalJSON(to: &out) } else { CanonicalJSON.append(.null, to: &out) }
    }
  }

  private static func append(_ new: Entry, after old: Entry, to out: inout [UInt8]) {
    if old.others.isEmpty { return new.appendCanonicalJSON(to: &out) }
    var patch = new.json.object ?? JSONObject()
    for member in old.others.members {
      patch[member.key] = new.others[member.key].map { MergePatch.make(from: member.value, to: $0) } ?? .null
    }
    CanonicalJSON.append(.object(patch), to: &out)
  }

  /// The patch of all that was appended.
  package consuming func finish() -> ManifestPatch {
    let count = members.count
    return ManifestPatch(bytes: members.finish(), count: count)
  }
}
