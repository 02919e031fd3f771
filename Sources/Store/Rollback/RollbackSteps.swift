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
    guard var place = releases.indices.last.map(source) else { throw .tooManySteps(steps, kept: 0) }
    var seen: Set<ContentMark> = [releases[place].content]
    while seen.count <= steps {
      guard place > 0 else { throw .tooManySteps(steps, kept: seen.count - 1) }
      place = source(of: place - 1)
      seen.insert(releases[place].content)
    }
    return ManifestVersion(releases[place].version)
  }

  /// The release whose content the one at `place` has: a rollback's target, as long as it is kept.
  private func source(of place: Int) -> Int {
    var place = place
    while let target = releases[place].target, let older = newest(upTo: target) { place = older }
    return place
  }

  private func newest(upTo version: Int64) -> Int? {
    let later = releases.partitionPoint { $0.version > version }
    return later > 0 ? later - 1 : nil
  }
}

extension Database {
  /// The version that is this many steps back for the whole channel.
  func stepsBack(_ steps: Int, in channel: ChannelInfo) throws(StoreError) -> ManifestVersion {
    let releases = try all(
      """
      SELECT r.version, r.digest, s.source_version
      FROM release AS r
      LEFT JOIN release_source AS s ON s.channel_id = r.channel_id AND s.version = r.version
        AND s.source_channel_id = r.channel_id AND s.bundle_id IS NULL
      WHERE r.channel_id = ? ORDER BY r.version
      """, channel.id
    ) { row in
      let digest: [UInt8] = row.get(1)
      let words = stride(from: 0, to: 32, by: 8).map { at in
        digest[at..<at + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      return RollbackSteps.Release(version: row.get(0), content: .init(words: words), target: row.get(2))
    }
    return try RollbackSteps(releases).target(steps)
  }

  /// The version that is this many steps back for one bundle.
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
      WHERE b.bundle_id = ? ORDER BY b.version
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
    try each("SELECT url_id, resource_id, since, until FROM entry WHERE bundle_id = ?", bundle.id) { row in
      let mark = Self.mark(row.get(0), row.get(1))
      for version in [row.get(2, as: Int64?.self), row.get(3, as: Int64?.self)].compactMap({ $0 }) {
        let before = changes[version] ?? (0, 0)
        changes[version] = (before.0 ^ mark.0, before.1 ^ mark.1)
      }
    }
    return changes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// 128 bits hashed from the ids of a URL and a resource (S. Vigna, SplitMix64's finaliser).
  private static func mark(_ url: Int64, _ resource: Int64) -> (UInt64, UInt64) {
    func mix(_ seed: UInt64) -> UInt64 {
      var z = seed &+ UInt64(bitPattern: url) &* 0x9E37_79B9_7F4A_7C15
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &+ UInt64(bitPattern: resource) &* 0xD6E8_FEB8_6659_FD93
      z = (z ^ (z >> 32)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
    return (mix(0x243F_6A88_85A3_08D3), mix(0x1319_8A2E_0370_7344))
  }
}
