import Manifests

/// Counts distinct contents back from the release whose content is live.
struct RollbackSteps {
  /// A release of the channel, or of one bundle of it.
  struct Release {
    let version: Int64
    /// Equal for equal contents.
    let content: ContentMark
    /// The version that a rollback brought back; nil for other kinds of release.
    let target: Int64?
    /// Whether everything else is as it was at `target`, too: not if a rollback was of one bundle, and another one has changed.
    var isWhole = true
  }

  /// A fingerprint of a content.
  struct ContentMark: Hashable {
    let words: [UInt64]
  }

  /// Sorted by version.
  private let releases: [Release]

  init(_ releases: [Release]) { self.releases = releases }

  /// The version that is `steps` distinct contents back.
  /// - Throws: `tooManySteps`, with the number of steps that are possible.
  func target(_ steps: Int) throws(StoreError) -> ManifestVersion {
    guard var index = releases.indices.last.map(source) else { throw .tooManySteps(steps, kept: 0) }
    var seen: Set<ContentMark> = [releases[index].content]
    while seen.count <= steps {
      guard let older = before(index) else { throw .tooManySteps(steps, kept: seen.count - 1) }
      index = source(of: older)
      seen.insert(releases[index].content)
    }
    return ManifestVersion(releases[index].version)
  }

  /// The release whose content the one at `index` has: a rollback's target, as long as it is kept.
  private func source(of index: Int) -> Int {
    var index = index
    while let older = sourceStep(of: index) { index = older }
    return index
  }

  private func sourceStep(of index: Int) -> Int? {
    let release = releases[index]
    guard let target = release.target else { return nil }
    if release.isWhole { return newest(upTo: target) }
    return releases[..<index].lastIndex { $0.content == release.content }
  }

  /// The index to continue from. What one bundle's rollback took back isn't gone back to: all that came between has it.
  private func before(_ index: Int) -> Int? {
    let release = releases[index]
    if let target = release.target, !release.isWhole { return newest(upTo: target) }
    return index > 0 ? index - 1 : nil
  }

  private func newest(upTo version: Int64) -> Int? {
    let later = releases.partitionPoint { $0.version > version }
    return later > 0 ? later - 1 : nil
  }
}

extension Database {
  /// The version that is this many steps back from the full version for the whole channel. Versions that only a part of the fleet
  /// got aren't counted.
  func stepsBack(_ steps: Int, in channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    let releases = try all(
      """
      SELECT r.version, r.digest, s.source_version, s.bundle_id IS NULL OR (
        EXISTS (SELECT 1 FROM release WHERE channel_id = r.channel_id AND version = s.source_version)
        AND NOT EXISTS (
          SELECT 1 FROM bundle AS b
          JOIN entry AS e ON e.bundle_id = b.id
            AND (e.since > s.source_version AND e.since <= r.version OR e.until > s.source_version AND e.until <= r.version)
          WHERE b.channel_id = r.channel_id
            AND (SELECT x.version FROM entry AS o JOIN resource AS x ON x.id = o.resource_id WHERE o.url_id = e.url_id
              AND o.since <= s.source_version AND (o.until IS NULL OR o.until > s.source_version))
            IS NOT (SELECT x.version FROM entry AS o JOIN resource AS x ON x.id = o.resource_id WHERE o.url_id = e.url_id
              AND o.since <= r.version AND (o.until IS NULL OR o.until > r.version))))
      FROM release AS r
      LEFT JOIN release_source AS s ON s.channel_id = r.channel_id AND s.version = r.version
        AND s.source_channel_id = r.channel_id
      WHERE r.channel_id = ?1 AND r.version NOT IN (
        SELECT version FROM rollout WHERE channel_id = ?1 AND state <> 'completed')
      ORDER BY r.version
      """, channel.id
    ) { row in
      let digest: [UInt8] = row.get(1)
      let words = stride(from: 0, to: 32, by: 8).map { at in
        digest[at..<at + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      return RollbackSteps.Release(
        version: row.get(0), content: .init(words: words), target: row.get(2),
        isWhole: row.get(3, as: Int64.self) == 1)
    }
    return try RollbackSteps(releases).target(steps)
  }

  /// The version that is this many steps back from the full version for one bundle; as above.
  func stepsBack(_ steps: Int, of bundle: BundleInfo, in channel: ChannelInfo) throws(StoreError)
    -> ManifestVersion
  {
    var marks = try contentChanges(of: bundle)[...]
    var now: (UInt64, UInt64) = (0, 0)
    let releases = try all(
      """
      SELECT b.version, s.source_version
      FROM release_bundle AS b
      LEFT JOIN release_source AS s ON s.channel_id = b.channel_id AND s.version = b.version
        AND s.source_channel_id = b.channel_id
      WHERE b.bundle_id = ?1 AND b.version NOT IN (
        SELECT version FROM rollout WHERE channel_id = b.channel_id AND state <> 'completed')
      ORDER BY b.version
      """, bundle.id
    ) { row in
      let version: Int64 = row.get(0)
      while let next = marks.first, next.version <= version {
        now = (now.0 ^ next.mark.0, now.1 ^ next.mark.1)
        marks.removeFirst()
      }
      return RollbackSteps.Release(
        version: version, content: .init(words: [now.0, now.1]), target: row.get(1))
    }
    return try RollbackSteps(releases).target(steps)
  }

  /// The changes of a bundle's content mark at each version. The mark of a set is the exclusive or over its members, so
  /// each row that begins or ends changes it by its own mark.
  private func contentChanges(of bundle: BundleInfo) throws(StoreError)
    -> [(version: Int64, mark: (UInt64, UInt64))]
  {
    var changes: [Int64: (UInt64, UInt64)] = [:]
    // A resource version is one content, also below several public URLs.
    try each(
      """
      SELECT e.url_id, r.version, e.since, e.until FROM entry AS e JOIN resource AS r ON r.id = e.resource_id
      WHERE e.bundle_id = ?
      """, bundle.id
    ) { row in
      let mark = Self.mark(row.get(0), row.get(1))
      for version in [row.get(2, as: Int64?.self), row.get(3, as: Int64?.self)].compactMap({ $0 }) {
        let before = changes[version] ?? (0, 0)
        changes[version] = (before.0 ^ mark.0, before.1 ^ mark.1)
      }
    }
    return changes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// 128 bits hashed from a URL's id and a resource version (S. Vigna, SplitMix64's finaliser).
  private static func mark(_ url: Int64, _ version: Int64) -> (UInt64, UInt64) {
    func mix(_ seed: UInt64) -> UInt64 {
      var z = seed &+ UInt64(bitPattern: url) &* 0x9E37_79B9_7F4A_7C15
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &+ UInt64(bitPattern: version) &* 0xD6E8_FEB8_6659_FD93
      z = (z ^ (z >> 32)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
    return (mix(0x243F_6A88_85A3_08D3), mix(0x1319_8A2E_0370_7344))
  }
}
