import Manifests
import System

/// A document of a mirror that the origin creates.
package enum MirrorDocument: Hashable, Sendable {
  /// `configure/N.json`
  case whole(ManifestVersion)
  /// `patch/A-N.json`
  case patch(from: ManifestVersion, to: ManifestVersion)
  /// `update/A-N.json`: the answer to a poll with a pack.
  case update(from: ManifestVersion, to: ManifestVersion)
  /// `release/N.json`
  case release(ManifestVersion)
  /// `info.json`
  case info(ManifestVersion)
  /// `prefetchConfig.json`, `policy.json`: a version of the document; 0 before the first.
  case prefetch(Int64)
  case policy(Int64)
  /// `prefetchConfig/N.json`: the prefetch config that goes along with a candidate.
  case candidatePrefetch(Int64)
  /// `script/{sha256}.js`
  case script(SHA256)
  /// `root/N.json`, of a channel with a root.
  case root(Int64)
  /// `head.json`: the newest one.
  case head
  /// The statements of a version, as the member `trust` of `configure/N.json` has them; not a file of its own.
  case statements(ManifestVersion)

  /// The document's path below its channel's folder.
  package var path: String {
    switch self {
    case .whole(let version): "configure/\(version).json"
    case .patch(let base, let version): "patch/\(base)-\(version).json"
    case .update(let base, let version): "update/\(base)-\(version).json"
    case .release(let version): "release/\(version).json"
    case .info: "info.json"
    case .prefetch: "prefetchConfig.json"
    case .policy: "policy.json"
    case .candidatePrefetch(let version): "prefetchConfig/\(version).json"
    case .script(let sha256): "script/\(sha256.hex).js"
    case .root(let number): "root/\(number).json"
    case .head: "head.json"
    case .statements(let version): "configure/\(version).json"
    }
  }

  /// The query of the API for the document.
  package var query: String {
    switch self {
    case .whole(let version): "kind=whole&version=\(version)"
    case .patch(let base, let version): "kind=patch&from=\(base)&version=\(version)"
    case .update(let base, let version): "kind=update&from=\(base)&version=\(version)"
    case .release(let version): "kind=release&version=\(version)"
    case .info(let version): "kind=info&version=\(version)"
    case .prefetch(let version): "kind=prefetch&version=\(version)"
    case .policy(let version): "kind=policy&version=\(version)"
    case .candidatePrefetch(let version): "kind=candidate-prefetch&version=\(version)"
    case .script(let sha256): "kind=script&sha256=\(sha256.hex)"
    case .root(let number): "kind=root&version=\(number)"
    case .head: "kind=head"
    case .statements(let version): "kind=statements&version=\(version)"
    }
  }

  /// Parses the members of `query`; nil for anything else.
  package init?(kind: String, from: ManifestVersion?, version: ManifestVersion?, sha256: SHA256?) {
    switch (kind, from, version, sha256) {
    case ("whole", _, let version?, _): self = .whole(version)
    case ("patch", let base?, let version?, _): self = .patch(from: base, to: version)
    case ("update", let base?, let version?, _): self = .update(from: base, to: version)
    case ("release", _, let version?, _): self = .release(version)
    case ("info", _, let version?, _): self = .info(version)
    case ("prefetch", _, let version?, _): self = .prefetch(version.number)
    case ("policy", _, let version?, _): self = .policy(version.number)
    case ("candidate-prefetch", _, let version?, _): self = .candidatePrefetch(version.number)
    case ("script", _, _, let sha256?): self = .script(sha256)
    case ("root", _, let version?, _): self = .root(version.number)
    case ("head", _, _, _): self = .head
    case ("statements", _, let version?, _): self = .statements(version)
    default: return nil
    }
  }
}

extension Store {
  /// The bytes of a mirror's document.
  /// - Throws: `unknownVersion`, also for an update without a pack, and for what only a channel with a root has;
  ///   `unknownBlob` for a script that isn't stored.
  package func mirrorDocument(_ document: MirrorDocument, of channel: ChannelInfo) throws(StoreError)
    -> [UInt8]
  {
    switch document {
    case .whole(let version): return try wholeDocument(channel, at: version)
    case .patch(let base, let version):
      let extras = try answerExtras(of: channel.answered(version) ?? channel.full)
      return try patchDocument(channel, from: base, to: version, extras: extras)
    case .update(let base, let version): return try updateDocument(channel, from: base, to: version)
    case .release(let version): return try releaseDocument(channel, at: version)
    case .info(let version): return try infoDocument(channel, at: version)
    case .prefetch(let version):
      var extras = ChannelExtras()
      if version != 0 {
        extras.prefetch = try self.document(.prefetch, of: channel, at: version)
        extras.prefetchTrust = try prefetchStatement(of: channel, at: version)?.envelope.bytes
      }
      return extras.prefetchDocument
    case .policy(let version):
      var extras = ChannelExtras()
      if version != 0 { extras.policy = try self.document(.policy, of: channel, at: version) }
      return extras.policyDocument
    case .candidatePrefetch(let version):
      var extras = ChannelExtras()
      // Completed since a run began, it is the channel's, with the same bytes.
      extras.candidatePrefetch = try self.document(.prefetch, of: channel, at: version)
      extras.candidatePrefetchTrust = try prefetchStatement(of: channel, at: version)?.envelope.bytes
      guard let document = extras.candidateDocument else { throw .unknownVersion(ManifestVersion(version)) }
      return document.bytes
    case .script(let sha256):
      guard let bytes = try script(sha256) else { throw .unknownBlob(sha256) }
      return bytes
    case .root(let number):
      guard let bytes = try rootDocument(of: channel.app, number) else {
        throw .unknownVersion(ManifestVersion(number))
      }
      return bytes
    case .head:
      guard let bytes = try headDocument(of: channel) else { throw .unknownVersion(channel.version) }
      return bytes
    case .statements(let version):
      guard let bytes = try mirroredTrust(of: channel, from: nil, to: version) else {
        throw .unknownVersion(version)
      }
      return bytes
    }
  }

  /// The extra members that every answer of a channel has.
  package func answerExtras(of channel: ChannelInfo) throws(StoreError) -> AnswerExtras {
    try extras(of: channel).answerExtras.with(rollback: channel.rollback).with(rollout: channel.rollout?.rule)
  }

  /// The scripts that a channel's policy names.
  package func policyScripts(of channel: ChannelInfo) throws(StoreError) -> [SHA256] {
    let policy = try document(.policy, of: channel)?.policy ?? .none
    return Set(policy.scripts.map(\.sha256)).sorted { $0.hex < $1.hex }
  }

  private func infoDocument(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) -> [UInt8]
  {
    guard let digest = try digest(channel, at: version) else { throw .unknownVersion(version) }
    let urls = try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT u.text FROM url AS u WHERE u.channel_id = ?1 AND EXISTS (
          SELECT 1 FROM entry AS e
          WHERE e.url_id = u.id AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2))
        ORDER BY u.text
        """, channel.id, version.number
      ) { Array($0.get(0, as: String.self).utf8)[...] }
    }
    return Documents.info(digest: digest) { body in for url in urls { body(url) } }
  }
}

/// A resource in a mirror.
package struct MirroredResource: Hashable, Sendable {
  /// Its download path below the public URL.
  package let path: DownloadPath
  /// The digest of its bytes.
  package let sha256: SHA256
  /// The size in bytes.
  package let size: Int64
  /// Its content type.
  package let ctype: ContentType

  /// Creates a resource.
  package init(path: DownloadPath, sha256: SHA256, size: Int64, ctype: ContentType) {
    self.path = path
    self.sha256 = sha256
    self.size = size
    self.ctype = ctype
  }
}

// The contents of a mirror. Each call reads one snapshot of the database. The content of a version never changes, so
// successive calls agree.
extension Store {
  /// The version of a channel and the `keep` releases before it, oldest first; empty if there is no release.
  package func keptVersions(of channel: ChannelInfo, keep: Int) throws(StoreError) -> [ManifestVersion] {
    try connections.reading { (db) throws(StoreError) in
      try db.newestVersions(of: channel.id, below: channel.version.number + 1, limit: keep + 1).reversed()
    }
  }

  /// The resources that any version from `first` to `last` names, each once.
  package func mirroredResources(
    of channel: ChannelInfo, from first: ManifestVersion, through last: ManifestVersion
  ) throws(StoreError) -> [MirroredResource] {
    try connections.reading { (db) throws(StoreError) in
      try db.all(
        """
        SELECT u.text, b.sha256, b.size, t.text, r.version, r.brought_in
        FROM resource AS r
        JOIN url AS u ON u.id = r.url_id
        JOIN blob AS b ON b.id = r.blob_id
        JOIN content_type AS t ON t.id = r.content_type_id
        WHERE r.id IN (
          SELECT e.resource_id FROM bundle AS k JOIN entry AS e ON e.bundle_id = k.id
          WHERE k.channel_id = ?1 AND e.since <= ?3 AND (e.until IS NULL OR e.until > ?2))
        ORDER BY r.id
        """, channel.id, first.number, last.number
      ) { (row) throws(StoreError) in
        let sha256: SHA256 = row.get(1)
        return MirroredResource(
          path: DownloadPath(
            channel: channel.name, appID: channel.appID, manifestVersion: row.version(5),
            resourceVersion: row.get(4), sha256: sha256, url: try Stored.url(row.get(0))),
          sha256: sha256, size: row.get(2), ctype: try Stored.contentType(row.get(3)))
      }
    }
  }

  /// `configure/N.json`: the whole manifest of a kept version, without anything that could differ for another version. In a channel
  /// with a root it has the statements of that version, and no head.
  /// - Throws: `unknownVersion`.
  func wholeDocument(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [UInt8]
  {
    let trust = try mirroredTrust(of: channel, from: nil, to: version)
    return try connections.reading { (db) throws(StoreError) in
      guard try db.isKept(version, in: channel.id), version > .none else { throw .unknownVersion(version) }
      var map = ResourceMapWriter(entries: channel.resources)
      try db.eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
        map.append(url, try row.entry(url, in: channel))
      }
      return Documents.whole(version, map.finish(), trust: trust)
    }
  }

  /// `patch/A-N.json`.
  /// - Throws: `unknownVersion`.
  func patchDocument(
    _ channel: ChannelInfo, from base: ManifestVersion, to version: ManifestVersion, extras: AnswerExtras
  ) throws(StoreError) -> [UInt8] {
    guard let digest = try digest(channel, at: version) else { throw .unknownVersion(version) }
    try refuseStep(channel, from: base, to: version)
    var writer = ManifestPatchWriter()
    let changes = try changes(channel, from: base, to: version)
    for change in changes {
      writer.append(change.url, now: change.entry, lost: change.lost)
    }
    let deltas = try DeltaOffers(store: self).render(changes, channel, from: base)
    return Documents.patch(
      version, digest: digest, base: DocumentBase(base, deltas: deltas), writer.finish(), extras: extras,
      trust: try mirroredTrust(of: channel, from: base, to: version))
  }

  /// `update/A-N.json`.
  /// - Throws: `unknownVersion`, also if there is no pack between the two.
  private func updateDocument(
    _ channel: ChannelInfo, from base: ManifestVersion, to version: ManifestVersion
  ) throws(StoreError) -> [UInt8] {
    guard let baseDigest = try digest(channel, at: base) else { throw .unknownVersion(base) }
    guard let digest = try digest(channel, at: version) else { throw .unknownVersion(version) }
    try refuseStep(channel, from: base, to: version)
    let ends = PackEnds(base: base, baseDigest: baseDigest, version: version, digest: digest)
    guard case .stored(let pack) = try derived.pack(ends, of: channel.id) else { throw .unknownVersion(base) }
    return Documents.pack(
      PackAnswer(
        base: base, version: version, digest: digest, pack: pack.offer(of: channel),
        extras: try answerExtras(of: channel.answered(version) ?? channel.full),
        trust: try mirroredTrust(of: channel, from: base, to: version)))
  }
}
