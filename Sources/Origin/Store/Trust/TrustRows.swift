import Manifests
import System
import Trust
import Values

// The rows of roots, statements, contents, floors and heads: one statement for each thing that is written.
extension Database {
  /// The roots of an app, from the first on.
  func roots(ofApp app: Int64) throws(StoreError) -> [AppTrust.Root] {
    try all("SELECT envelope, at, author FROM trust_root WHERE app_id = ? ORDER BY number", app) {
      (row) throws(StoreError) in
      AppTrust.Root(signed: try Stored.signed(row.get(0)), at: row.get(1), author: row.get(2))
    }
  }

  /// Puts a root in force that was checked.
  func insert(_ root: Signed<TrustRoot>, ofApp app: Int64, by author: String, now: Int64) throws(StoreError) {
    try run(
      "INSERT INTO trust_root (app_id, number, envelope, at, author) VALUES (?, ?, ?, ?, ?)", app,
      root.document.number.number, root.envelope.text, now, author)
  }

  /// Begins to name bundles in the entries of a channel, in the transaction of the release with this version, once that has its row.
  /// The floors of the app's roots hold in it as well.
  func nameBundles(of channel: Int64, since version: ManifestVersion) throws(StoreError) {
    try run("UPDATE channel SET bundles_since = ? WHERE id = ?", version.number, channel)
    guard let app = try value(Int64.self, "SELECT app_id FROM channel WHERE id = ?", channel) else { return }
    let roots = try roots(ofApp: app).map(\.signed.document)
    for (bundle, floor) in Self.floors(of: roots) where floor.floor > .zero {
      try run(
        """
        INSERT INTO trust_floor (channel_id, bundle, floor, root) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET floor = max(floor, excluded.floor), root = excluded.root
        """, channel, bundle, floor.floor.number, floor.root.number)
    }
  }

  /// What roots leave as floors, one after another, by the bundle's name.
  private static func floors(of roots: [TrustRoot]) -> [String: (floor: Serial, root: RootNumber)] {
    var floors: [String: (floor: Serial, root: RootNumber)] = [:]
    for root in roots {
      for (bundle, floor) in root.floors { floors[bundle.text] = (floor, root.number) }
      if let floor = root.prefetchFloor { floors[ChannelTrust.prefetch] = (floor, root.number) }
    }
    return floors
  }

  // MARK: - Floors

  /// The lowest serial of a bundle that devices of a channel still take; of a channel that is yet to be created, what its roots say.
  func floor(of bundle: String, in trust: ChannelTrust) throws(StoreError) -> Serial {
    guard let channel = trust.id else {
      return Self.floors(of: try roots(ofApp: trust.appID).map(\.signed.document))[bundle]?.floor ?? .zero
    }
    let floor = try value(
      Int64.self, "SELECT floor FROM trust_floor WHERE channel_id = ? AND bundle = ?", channel, bundle)
    guard let floor else { return .zero }
    guard let serial = Serial(floor) else { throw .corruptRow("floor \(floor)") }
    return serial
  }

  /// When the newest root that names a floor of a bundle came into force, in milliseconds since 1970; nil if none does.
  func timeOfRootFloor(of bundle: String, in trust: ChannelTrust) throws(StoreError) -> Int64? {
    guard let channel = trust.id else {
      return try roots(ofApp: trust.appID).last {
        Self.floors(of: [$0.signed.document])[bundle] != nil
      }?.at.milliseconds
    }
    return try value(
      Int64.self,
      """
      SELECT r.at FROM trust_floor AS f JOIN trust_root AS r ON r.app_id = ?3 AND r.number = f.root
      WHERE f.channel_id = ?1 AND f.bundle = ?2
      """, channel, bundle, trust.appID)
  }

  /// Raises a floor to what a statement leaves.
  func raiseFloor(of bundle: String, in channel: Int64, to floor: Serial) throws(StoreError) {
    if floor == .zero { return }
    try run(
      """
      INSERT INTO trust_floor (channel_id, bundle, floor) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET floor = max(floor, excluded.floor)
      """, channel, bundle, floor.number)
  }

  /// Sets the floors that a root names, also where they were higher, in each channel whose entries name bundles. A removed one is among
  /// them: once it is created again, its devices have the floors of all roots.
  func setFloors(of root: TrustRoot, inApp app: Int64) throws(StoreError) {
    let channels = try all(
      "SELECT id FROM channel WHERE app_id = ? AND bundles_since IS NOT NULL", app
    ) { $0.get(0, as: Int64.self) }
    for channel in channels {
      for (bundle, floor) in Self.floors(of: [root]) {
        try run(
          """
          INSERT INTO trust_floor (channel_id, bundle, floor, root) VALUES (?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET floor = excluded.floor, root = excluded.root
          """, channel, bundle, floor.floor.number, root.number.number)
      }
    }
  }

  // MARK: - Contents

  /// A bundle and what it contains in a version.
  struct ContentRow {
    let id: Int64
    let name: BundleName
    let digest: SHA256

    fileprivate init(_ row: Statement) throws(StoreError) {
      (id, name, digest) = (row.get(0), try Stored.bundle(row.get(1)), row.get(2))
    }
  }

  /// What each bundle contains in a version whose entries name bundles, ordered by name; empty bundles are left out.
  func contents(of channel: Int64, at version: ManifestVersion) throws(StoreError) -> [ContentRow] {
    try all(
      """
      SELECT b.id, b.name, c.content FROM bundle AS b
      JOIN bundle_content AS c ON c.bundle_id = b.id AND c.version = (SELECT max(version) FROM bundle_content
        WHERE bundle_id = b.id AND version <= ?2)
      WHERE b.channel_id = ?1 AND c.content IS NOT NULL ORDER BY b.name
      """, channel, version.number, read: ContentRow.init)
  }

  /// The same for those bundles whose content changed after `base`.
  func contents(of channel: Int64, at version: ManifestVersion, changedAfter base: ManifestVersion)
    throws(StoreError) -> [ContentRow]
  {
    try all(
      """
      SELECT b.id, b.name, c.content FROM bundle AS b
      JOIN bundle_content AS c ON c.bundle_id = b.id AND c.version = (SELECT max(version) FROM bundle_content
        WHERE bundle_id = b.id AND version <= ?2)
      WHERE b.channel_id = ?1 AND c.content IS NOT NULL AND c.version > ?3 ORDER BY b.name
      """, channel, version.number, base.number, read: ContentRow.init)
  }

  /// Records what bundles contain from a version on: those with an entry that began or ended with it, or all. For a restore, too: call it
  /// for each version from the first on whose entries name bundles, once its rows are written.
  func recordContents(of channel: Int64, at version: ManifestVersion, ofAll: Bool = false) throws(StoreError)
  {
    let bundles = try all(
      """
      SELECT b.id, (SELECT max(version) FROM bundle_content WHERE bundle_id = b.id) FROM bundle AS b
      WHERE b.channel_id = ?1 AND (?3 OR EXISTS (SELECT 1 FROM entry WHERE bundle_id = b.id AND since = ?2)
        OR EXISTS (SELECT 1 FROM entry WHERE bundle_id = b.id AND until = ?2))
      """, channel, version.number, ofAll ? 1 : 0
    ) { (id: $0.get(0, as: Int64.self), newest: $0.get(1, as: Int64?.self)) }
    for bundle in bundles {
      let digest = Self.digest(of: try contents(ofBundle: bundle.id, at: version))
      var last: SHA256?
      if let newest = bundle.newest {
        last =
          try value(
            SHA256?.self, "SELECT content FROM bundle_content WHERE bundle_id = ? AND version = ?", bundle.id,
            newest) ?? nil
      }
      if last == digest { continue }
      try run(
        "INSERT INTO bundle_content (bundle_id, version, content) VALUES (?, ?, ?)", bundle.id,
        version.number, digest)
    }
  }

  /// The digest of what a release statement signs; nil for an empty bundle.
  static func digest(of contents: [(url: ResourceURL, content: ResourceContent)]) -> SHA256? {
    if contents.isEmpty { return nil }
    var bundle = BundleContent()
    for (url, content) in contents {
      bundle.append(ManifestItem(url: url, entry: Entry(content, download: "", version: 0)))
    }
    return bundle.digest()
  }

  /// What a key must be allowed to sign: the URLs of a bundle, and the prefixes under which its pages are fallbacks.
  func urls(ofBundle bundle: Int64, at version: ManifestVersion) throws(StoreError) -> [ResourceURL] {
    var urls: [ResourceURL] = []
    try each(
      """
      SELECT u.text, t.fallback FROM entry AS e
      JOIN url AS u ON u.id = e.url_id
      JOIN resource AS r ON r.id = e.resource_id
      JOIN content_type AS t ON t.id = r.content_type_id
      WHERE e.bundle_id = ?1 AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
      """, bundle, version.number
    ) { (row) throws(StoreError) in
      let url = try Stored.url(row.get(0))
      urls.append(url)
      urls += try Stored.fallbacks(row, 1).prefixes(of: url)
    }
    return urls
  }

  /// URLs that two bundles hold in a version.
  func sharedURLs(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) -> [SharedURL] {
    var holders: [(url: ResourceURL, bundles: [BundleName])] = []
    try each(
      """
      SELECT u.text, n.name FROM url AS u
      JOIN entry AS e ON e.url_id = u.id AND e.since <= ?2 AND (e.until IS NULL OR e.until > ?2)
      JOIN bundle AS n ON n.id = e.bundle_id
      WHERE u.channel_id = ?1 AND EXISTS (SELECT 1 FROM entry AS o WHERE o.url_id = u.id
        AND o.bundle_id <> e.bundle_id AND o.since <= ?2 AND (o.until IS NULL OR o.until > ?2))
      ORDER BY u.text, n.name
      """, channel.id, version.number
    ) { (row) throws(StoreError) in
      let (url, bundle) = (try Stored.url(row.get(0)), try Stored.bundle(row.get(1)))
      if holders.last?.url == url {
        holders[holders.count - 1].bundles.append(bundle)
      } else {
        holders.append((url, [bundle]))
      }
    }
    return holders.map { SharedURL(channel: channel.name, url: $0.url, bundles: $0.bundles) }
  }

  // MARK: - Statements

  /// The stored statements for a content, highest serial first. A damaged one is left out, since it is good for nobody, and the others are.
  func statements(of bundle: BundleName, _ content: SHA256, _ app: Int64) throws(StoreError)
    -> [(signed: Signed<ReleaseStatement>, at: Int64)]
  {
    try all(
      """
      SELECT envelope, at FROM release_statement WHERE app_id = ? AND bundle = ? AND content = ?
      ORDER BY serial DESC, id DESC
      """, app, bundle.text, content
    ) { (try? Stored.signed($0.get(0), as: ReleaseStatement.self), $0.get(1, as: Int64.self)) }
    .compactMap { (signed, at) in
      guard let signed, signed.document.bundle == bundle else { return nil }
      return (signed, at)
    }
  }

  /// The same for a prefetch config.
  func prefetchStatements(of content: SHA256, _ app: Int64) throws(StoreError)
    -> [(signed: Signed<PrefetchStatement>, at: Int64)]
  {
    try all(
      """
      SELECT envelope, at FROM prefetch_statement WHERE app_id = ? AND content = ?
      ORDER BY serial DESC, id DESC
      """, app, content
    ) { (try? Stored.signed($0.get(0), as: PrefetchStatement.self), $0.get(1, as: Int64.self)) }
    .compactMap { (signed, at) in signed.map { ($0, at) } }
  }

  /// How many statements of an app can't be read.
  func damagedStatements(ofApp app: Int64) throws(StoreError) -> Int {
    let releases = try all(
      "SELECT envelope, bundle, content FROM release_statement WHERE app_id = ?", app
    ) { (row) -> Bool in
      let signed = try? Stored.signed(row.get(0), as: ReleaseStatement.self)
      return signed?.document.bundle.text == row.get(1, as: String.self)
        && signed?.document.content == row.get(2, as: SHA256.self)
    }
    let prefetch = try all("SELECT envelope, content FROM prefetch_statement WHERE app_id = ?", app) {
      (row) -> Bool in
      let signed = try? Stored.signed(row.get(0), as: PrefetchStatement.self)
      return signed?.document.content == row.get(1, as: SHA256.self)
    }
    return (releases + prefetch).count { !$0 }
  }

  /// Keeps a statement.
  /// - Returns: whether it wasn't known.
  @discardableResult
  func keep(_ signed: Signed<ReleaseStatement>, ofApp app: Int64, by author: String, now: Int64)
    throws(StoreError) -> Bool
  {
    let statement = signed.document
    return try value(
      Int64.self,
      """
      INSERT INTO release_statement (app_id, bundle, content, serial, floor, digest, keys, envelope, at, author)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1
      """, app, statement.bundle.text, statement.content, statement.serial.number, statement.floor.number,
      signed.digest, signed.envelope.keys, signed.envelope.text, now, author) != nil
  }

  /// The same for a prefetch config.
  @discardableResult
  func keep(_ signed: Signed<PrefetchStatement>, ofApp app: Int64, by author: String, now: Int64)
    throws(StoreError) -> Bool
  {
    let statement = signed.document
    return try value(
      Int64.self,
      """
      INSERT INTO prefetch_statement (app_id, content, serial, floor, digest, keys, envelope, at, author)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1
      """, app, statement.content, statement.serial.number, statement.floor.number, signed.digest,
      signed.envelope.keys, signed.envelope.text, now, author) != nil
  }

  /// Whether some channel of an app has a bundle with this content, in any version that may still be asked for.
  func knows(_ content: SHA256, of bundle: BundleName, inApp app: Int64) throws(StoreError) -> Bool {
    try value(
      Int64.self,
      """
      SELECT 1 FROM bundle_content AS c JOIN bundle AS b ON b.id = c.bundle_id
      JOIN channel AS n ON n.id = b.channel_id
      WHERE c.content = ? AND b.name = ? AND n.app_id = ? LIMIT 1
      """, content, bundle.text, app) != nil
  }

  /// Deletes contents of versions that aren't kept.
  func deleteUnneededContents(of channel: ChannelInfo) throws(StoreError) {
    guard channel.bundlesSince != nil else { return }
    try run(
      """
      DELETE FROM bundle_content AS c WHERE bundle_id IN (SELECT id FROM bundle WHERE channel_id = ?1)
        AND EXISTS (SELECT 1 FROM bundle_content AS n WHERE n.bundle_id = c.bundle_id AND n.version > c.version)
        AND NOT EXISTS (SELECT 1 FROM release AS r WHERE r.channel_id = ?1 AND r.version >= c.version
          AND r.version < (SELECT min(n.version) FROM bundle_content AS n
            WHERE n.bundle_id = c.bundle_id AND n.version > c.version))
      """, channel.id)
  }

  /// Deletes the statements of contents and prefetch configs that no channel of an app has any more.
  func deleteUnneededStatements(ofApp app: Int64) throws(StoreError) {
    let signed = try all("SELECT DISTINCT content FROM prefetch_statement WHERE app_id = ?", app) {
      $0.get(0, as: SHA256.self)
    }
    if !signed.isEmpty {
      let held = try prefetchDigests(ofApp: app)
      for content in signed where !held.contains(content) {
        try run("DELETE FROM prefetch_statement WHERE app_id = ? AND content = ?", app, content)
      }
    }
    try run(
      """
      DELETE FROM release_statement AS s WHERE app_id = ? AND NOT EXISTS (
        SELECT 1 FROM bundle_content AS c JOIN bundle AS b ON b.id = c.bundle_id
        JOIN channel AS n ON n.id = b.channel_id
        WHERE c.content = s.content AND b.name = s.bundle AND n.app_id = s.app_id)
      """, app)
  }

  /// The time at which a root comes into force: not before that of a statement that is there.
  func timeOfRoot(ofApp app: Int64, now: Int64) throws(StoreError) -> Int64 {
    let last = try value(
      Int64?.self,
      """
      SELECT max(at) FROM (SELECT at FROM release_statement WHERE app_id = ?1
        UNION ALL SELECT at FROM prefetch_statement WHERE app_id = ?1)
      """, app)
    return max(now, (last ?? nil) ?? 0)
  }

  /// The time at which statements are stored that come without a release: after every release of the app.
  func timeAfterReleases(ofApp app: Int64, now: Int64) throws(StoreError) -> Int64 {
    let last = try value(
      Int64?.self,
      """
      SELECT max(r.at) FROM channel AS c JOIN release AS r ON r.channel_id = c.id
        AND r.version = (SELECT max(version) FROM release WHERE channel_id = c.id)
      WHERE c.app_id = ?
      """, app)
    return max(now, ((last ?? nil) ?? 0).addingClamped(1))
  }
}

extension Envelope {
  /// As it is stored.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Whose signatures it has.
  fileprivate var keys: String { signatures.map(\.key.text).joined(separator: " ") }
}
