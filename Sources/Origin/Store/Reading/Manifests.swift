import Manifests
import System
import Values

extension Store {
  /// Calls `body` with each URL of a kept version, in order, and its entry; version 0 has none.
  /// - Throws: `unknownVersion`.
  package func eachEntry(
    of channel: ChannelInfo, at version: ManifestVersion, _ body: (ResourceURL, Entry) -> Void
  ) throws(StoreError) {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      try db.eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
        body(url, try row.entry(url, in: channel))
      }
    }
  }

  /// The manifest of a kept version, sorted by URL; that of version 0 is empty.
  /// - Throws: `unknownVersion`.
  package func manifest(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [(url: ResourceURL, entry: Entry)]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      var items: [(url: ResourceURL, entry: Entry)] = []
      try db.eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
        items.append((url, try row.entry(url, in: channel)))
      }
      return items
    }
  }

  /// The pages of a kept version that answer routes, with their bundles, sorted by bundle and URL.
  /// - Throws: `unknownVersion`.
  package func routes(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) -> [PageRoutes]
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      var routes: [PageRoutes] = []
      // Nearly no channel has any: then its entries aren't read.
      try db.each(
        """
        SELECT n.name, u.text, t.fallback
        FROM bundle AS n
        JOIN entry AS e ON e.bundle_id = n.id AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
        JOIN resource AS r ON r.id = e.resource_id
        JOIN content_type AS t ON t.id = r.content_type_id AND t.fallback <> '[]'
        JOIN url AS u ON u.id = e.url_id
        WHERE n.channel_id = ?1 AND EXISTS (SELECT 1 FROM content_type WHERE fallback <> '[]')
        ORDER BY n.name, u.text
        """, channel.id, version.number
      ) { (row) throws(StoreError) in
        routes.append(
          PageRoutes(
            bundle: try Stored.bundle(row.get(0)), page: try Stored.url(row.get(1)),
            fallbacks: try Stored.fallbacks(row, 2)))
      }
      return routes
    }
  }

  /// The URLs of a kept version with their contents, sorted by URL.
  /// - Throws: `unknownVersion`.
  package func contents(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> ContentTable
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      var table = ContentTable()
      try db.eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
        table.append(url, row.content)
      }
      return table
    }
  }

  /// The number of lazy resources of a kept version, and the size of their files in bytes.
  package func lazyResources(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) -> (
    count: Int, bytes: Int64
  ) {
    try connections.reading { (db) throws(StoreError) in
      // Two bundles may hold one URL.
      try db.first(
        """
        SELECT count(*), coalesce(sum(size), 0) FROM (
          SELECT DISTINCT u.id, b.size FROM content_type AS t
          JOIN resource AS r ON r.content_type_id = t.id
          JOIN url AS u ON u.id = r.url_id
          JOIN entry AS e ON e.resource_id = r.id
          JOIN blob AS b ON b.id = r.blob_id
          WHERE t.lazy = 1 AND u.channel_id = ?1 AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2))
        """, channel.id, version.number
      ) { (count: $0.get(0), bytes: $0.get(1)) } ?? (0, 0)
    }
  }

  /// The changes from the manifest of one kept version to that of another, sorted by URL. Where entries name their bundle in only one of
  /// them (`ChannelInfo.crossesRebase`), that is every entry.
  /// - Throws: `unknownVersion`.
  package func changes(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> [EntryChange]
  {
    try differences(channel, from, to) { (url, was, now) throws(StoreError) in
      EntryChange(url: url, entry: try now?.entry(url, in: channel), old: was?.content)
    }
  }

  /// The changes between two kept versions, with the contents of both, sorted by URL. Which bundle holds a URL is no matter here.
  /// - Throws: `unknownVersion`.
  package func diff(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> [ContentChange]
  {
    try connections.reading { (db) throws(StoreError) in
      var changes: [ContentChange] = []
      try db.eachDifference(of: channel, from: from, to: to) { (url, row) throws(StoreError) in
        changes.append(
          ContentChange(url: url, was: try row.was()?.content, now: try row.now()?.content))
      }
      return changes
    }
  }

  /// The changes between two kept versions, with both entries as a pack describes them.
  /// - Throws: `unknownVersion`.
  package func entryChanges(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion)
    throws(StoreError) -> [EntryDifference]
  {
    try differences(channel, from, to) { (url, was, now) throws(StoreError) in
      EntryDifference(
        url: url, old: try was?.entry(url, in: channel), new: try now?.entry(url, in: channel))
    }
  }

  private func differences<Change>(
    _ channel: ChannelInfo, _ from: ManifestVersion, _ to: ManifestVersion,
    read: (ResourceURL, _ was: ManifestRow?, _ now: ManifestRow?) throws(StoreError) -> Change
  ) throws(StoreError) -> [Change] {
    try connections.reading { (db) throws(StoreError) in
      var changes: [Change] = []
      if channel.crossesRebase(from: from, to: to) {
        for version in [from, to] { try db.requireKept(version, in: channel.id) }
        var old: [ResourceURL: ManifestRow] = [:]
        try db.eachEntry(of: channel, at: from) { (url, row) in old[url] = row }
        var new: [ResourceURL: ManifestRow] = [:]
        try db.eachEntry(of: channel, at: to) { (url, row) in new[url] = row }
        for url in Set(old.keys).union(new.keys).sorted() {
          changes.append(try read(url, old[url], new[url]))
        }
        return changes
      }
      try db.eachDifference(
        of: channel, from: from, to: to, names: channel.namesBundles(at: max(from, to))
      ) { (url, row) throws(StoreError) in
        changes.append(try read(url, try row.was(), try row.now()))
      }
      return changes
    }
  }

  /// The SHA-256 of a kept version's canonical resourcemap, as its release recorded it; nil if it isn't kept.
  package func digest(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) -> SHA256? {
    try connections.reading { (db) throws(StoreError) in try db.digest(of: channel.id, at: version) }
  }

  /// The same digest, computed from the rows; if they differ, one of the two is wrong.
  package func digestByQuery(_ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) -> SHA256
  {
    try connections.reading { (db) throws(StoreError) in
      try db.requireKept(version, in: channel.id)
      return try db.digest(of: channel, at: version, with: [])
    }
  }
}

/// A page of a bundle, and the navigations that nothing else answers for which it answers.
package struct PageRoutes: Hashable, Sendable {
  package let bundle: BundleName
  package let page: ResourceURL
  package let fallbacks: PageFallbacks
}

/// A change of a URL's content; nil for a manifest without the URL.
package struct ContentChange: Hashable, Sendable {
  /// The URL.
  package let url: ResourceURL
  /// The old content.
  package let was: ResourceContent?
  /// The new content.
  package let now: ResourceContent?
}

extension Database {
  /// The digest that a release recorded; nil if the version isn't kept.
  func digest(of channel: Int64, at version: ManifestVersion) throws(StoreError) -> SHA256? {
    try value(
      SHA256.self, "SELECT digest FROM release WHERE channel_id = ? AND version = ?", channel, version.number)
  }

  /// The digest of the resourcemap that a release results in, before its rows are written.
  func digest(of release: PreparedRelease) throws(StoreError) -> SHA256 {
    try digest(of: release.channel, at: release.channel.version, with: release.changes)
  }

  /// The SHA-256 of the canonical resourcemap of `version` with `changes` applied, which are sorted by URL.
  func digest(of channel: ChannelInfo, at version: ManifestVersion, with changes: [EntryChange])
    throws(StoreError) -> SHA256
  {
    var map = ResourceMapHasher()
    var rest = changes[...]
    try eachEntry(of: channel, at: version) { (url, row) throws(StoreError) in
      while let change = rest.first, change.url < url {
        map.append(rest.removeFirst())
      }
      if rest.first?.url == url {
        map.append(rest.removeFirst())
      } else {
        map.append(EntryChange(url: url, entry: try row.entry(url, in: channel), old: nil))
      }
    }
    for change in rest { map.append(change) }
    return map.finish()
  }
}

/// Hashes a canonical resourcemap whose entries are appended in order.
private struct ResourceMapHasher: ~Copyable {
  private var hasher = SHA256Hasher()
  private var pending: [UInt8] = [UInt8(ascii: "{")]
  private var isEmpty = true

  mutating func append(_ change: EntryChange) {
    guard let entry = change.entry else { return }
    if !isEmpty { pending.append(UInt8(ascii: ",")) }
    isEmpty = false
    CanonicalJSON.append(string: change.url.text, to: &pending)
    pending.append(UInt8(ascii: ":"))
    entry.appendCanonicalJSON(to: &pending)
    if pending.count > 1 << 16 { flush() }
  }

  consuming func finish() -> SHA256 {
    pending.append(UInt8(ascii: "}"))
    flush()
    return hasher.finish()
  }

  private mutating func flush() {
    let bytes = pending
    hasher.update(bytes.span.bytes)
    pending = []
    pending.reserveCapacity(bytes.count + 4096)
  }
}
