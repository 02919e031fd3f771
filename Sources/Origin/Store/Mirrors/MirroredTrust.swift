import Manifests
import Values

/// The member `trust` of an answer, taken apart: a mirror's documents get their head from the run that writes them.
///
/// A head is signed anew every day. With one in the origin's documents, every patch of a copy would change with it.
package struct MirroredTrust: Hashable, Sendable {
  /// The list of statements, as it is written.
  package let releases: [UInt8]

  /// Reads the member.
  package init(_ trust: [UInt8]) throws(JSONError) {
    var reader = JSONReader(trust)
    var releases = Array("[]".utf8)
    try reader.members { (key, reader) throws(JSONError) in
      _ = try reader.peek()
      let start = reader.at
      try reader.skip()
      if key == "releases" { releases = Array(reader.bytes[start..<reader.at]) }
    }
    try reader.end()
    self.releases = releases
  }

  /// The member with a head, an envelope in canonical form; with nil, without one.
  package func bytes(head: [UInt8]?) -> [UInt8] {
    var object = ObjectWriter(reserving: releases.count + (head?.count ?? 0) + 32)
    if let head { object.append(key: "head", raw: head) }
    object.append(key: "releases", raw: releases)
    return object.finish()
  }
}

extension Store {
  /// The member `trust` of a mirror's document that leads to `version`: the statements, without a head; nil without a root, or with
  /// one that is off.
  func mirroredTrust(of channel: ChannelInfo, from base: ManifestVersion?, to version: ManifestVersion)
    throws(StoreError) -> [UInt8]?
  {
    guard let since = channel.bundlesSince, version >= since,
      let trust = try answerTrust(of: channel, from: base, to: version)
    else { return nil }
    do {
      return try MirroredTrust(trust).bytes(head: nil)
    } catch {
      throw .corruptRow("trust of version \(version): \(error)")
    }
  }

  /// Refuses a step from a version whose entries don't name their bundles to one whose entries do: it has no patch.
  /// - Throws: `unknownVersion`.
  func refuseStep(_ channel: ChannelInfo, from base: ManifestVersion, to version: ManifestVersion)
    throws(StoreError)
  {
    if let since = channel.bundlesSince, base < since, version >= since { throw .unknownVersion(base) }
  }
}
