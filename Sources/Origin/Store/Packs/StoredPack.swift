import Manifests
import System

/// The two manifests that a pack connects; a first pack leads from version 0, which has no entries.
package struct PackEnds: Hashable, Sendable {
  /// The version that a device must have to use it.
  package let base: ManifestVersion
  /// The version that it leads to.
  package let version: ManifestVersion
  /// The digests of both resourcemaps.
  package let baseDigest: SHA256
  package let digest: SHA256

  package init(base: ManifestVersion, baseDigest: SHA256, version: ManifestVersion, digest: SHA256) {
    self.base = base
    self.baseDigest = baseDigest
    self.version = version
    self.digest = digest
  }

  /// Identifies both manifests.
  var key: SHA256 { Self.key(baseDigest, digest) }

  static func key(_ base: SHA256, _ version: SHA256) -> SHA256 { SHA256.of(base.bytes + version.bytes) }
}

extension Store {
  /// Whether a pack is still wanted once it is made: a purge may have removed one of its versions meanwhile, or another release may
  /// have been given the number. The newer version may still be on its way.
  package func wants(_ ends: PackEnds, of channel: Int64) throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in
      if ends.base == .none { return try db.digest(of: channel, at: ends.version) == ends.digest }
      guard try db.digest(of: channel, at: ends.base) == ends.baseDigest,
        try !db.crossesRebase(channel, from: ends.base, to: ends.version)
      else { return false }
      if let digest = try db.digest(of: channel, at: ends.version) { return digest == ends.digest }
      let newest =
        try db.value(Int64?.self, "SELECT max(version) FROM release WHERE channel_id = ?", channel) ?? nil
      return ends.version.number > newest ?? 0
    }
  }

  /// The packs between kept versions and the first packs of kept versions, by the channel's row.
  package func packsOfKeptVersions() throws(StoreError) -> [Int64: [StoredPack]] {
    let rows = try derived.packRows()
    let digests = try connections.reading { (db) throws(StoreError) in try ReleaseRow.digests(in: db) }
    var packs: [Int64: [StoredPack]] = [:]
    for row in rows {
      let known = digests[row.channel] ?? [:]
      guard let base = known[row.pack.base.number], let version = known[row.pack.version.number],
        row.ends == PackEnds.key(base, version)
      else { continue }
      packs[row.channel, default: []].append(row.pack)
    }
    return packs
  }
}

extension ReleaseRow {
  /// The digest of every kept version, and of version 0, by the channel's row.
  static func digests(in db: Database) throws(StoreError) -> [Int64: [Int64: SHA256]] {
    var digests: [Int64: [Int64: SHA256]] = [:]
    try db.each("SELECT channel_id, version, digest FROM release") { row in
      digests[row.get(0, as: Int64.self), default: [0: PackEnds.nothing]][row.get(1, as: Int64.self)] =
        row.get(2, as: SHA256.self)
    }
    return digests
  }
}

/// A stored pack.
package struct StoredPack: Hashable, Sendable {
  package let base: ManifestVersion
  package let version: ManifestVersion
  /// The SHA-256 of its bytes.
  package let sha256: SHA256
  /// The size in bytes.
  package let size: Int64
  /// Whether it was pushed to where devices download from (`serve --cdn push`).
  package let isPushed: Bool

  /// The same pack, pushed.
  package var pushed: StoredPack {
    StoredPack(base: base, version: version, sha256: sha256, size: size, isPushed: true)
  }

  /// The path at which devices download it.
  package func path(of channel: ChannelInfo) -> PackPath {
    PackPath(channel: channel.name, app: channel.app, base: base, version: version, sha256: sha256)
  }

  /// What devices are told about it.
  package func offer(of channel: ChannelInfo) -> PackOffer {
    PackOffer(download: path(of: channel).url(publicURL: channel.publicURL), size: size)
  }
}

/// What is known about the pack between two manifests.
package enum KnownPack: Hashable, Sendable {
  case nothing
  /// There is none worth storing.
  case refused
  case stored(StoredPack)
}

extension DerivedStore {
  /// What is known about the pack between two manifests. A pack whose file is gone is forgotten.
  package func pack(_ ends: PackEnds, of channel: Int64) throws(StoreError) -> KnownPack {
    let row = try work { (db) throws(StoreError) in
      try db.first(
        "SELECT ends, sha256, size, pushed FROM pack WHERE channel_id = ? AND base = ? AND version = ?",
        channel,
        ends.base.number, ends.version.number
      ) { row -> (ends: SHA256, pack: StoredPack?) in
        (
          row.get(0),
          row.isNull(1)
            ? nil
            : StoredPack(
              base: ends.base, version: ends.version, sha256: row.get(1), size: row.get(2),
              isPushed: row.get(3, as: Int64.self) != 0)
        )
      }
    }
    guard let row, row.ends == ends.key else { return .nothing }
    guard let pack = row.pack else { return .refused }
    let path = path(of: pack, channel)
    if (try? Kernel.status(path))??.size == pack.size { return .stored(pack) }
    try forgetPack(at: "packs/\(channel)/\(Self.fileName(pack))")
    return .nothing
  }

  /// Records that no pack between two manifests is worth storing.
  package func refusePack(_ ends: PackEnds, of channel: Int64) throws(StoreError) {
    try work { (db) throws(StoreError) in
      try db.run(
        """
        INSERT OR REPLACE INTO pack (channel_id, base, version, ends, sha256, size) VALUES (?, ?, ?, ?, NULL, NULL)
        """, channel, ends.base.number, ends.version.number, ends.key)
    }
  }

  /// Records that a pack was pushed to where devices download from.
  package func notePushed(_ pack: StoredPack, of channel: Int64) throws(StoreError) {
    try work { (db) throws(StoreError) in
      try db.run(
        "UPDATE pack SET pushed = 1 WHERE channel_id = ? AND base = ? AND version = ? AND sha256 = ?",
        channel,
        pack.base.number, pack.version.number, pack.sha256)
    }
  }

  /// Forgets that a pack was pushed: it was removed there.
  package func forgetPush(_ path: PackPath, of channel: Int64) throws(StoreError) {
    try work { (db) throws(StoreError) in
      try db.run(
        """
        UPDATE pack SET pushed = 0 WHERE channel_id = ?1 AND base = ?2 AND version = ?3
        AND substr(hex(sha256), 1, 16) = ?4
        """, channel, path.base.number, path.version.number, path.mark.uppercased())
    }
  }

  /// All packs, with what identifies the manifests that each was made from.
  func packRows() throws(StoreError) -> [(channel: Int64, pack: StoredPack, ends: SHA256)] {
    try work { (db) throws(StoreError) in
      try db.all(
        "SELECT channel_id, base, version, sha256, size, pushed, ends FROM pack WHERE sha256 IS NOT NULL"
      ) { row in
        (
          channel: row.get(0, as: Int64.self),
          pack: StoredPack(
            base: row.version(1), version: row.version(2), sha256: row.get(3), size: row.get(4),
            isPushed: row.get(5, as: Int64.self) != 0),
          ends: row.get(6, as: SHA256.self)
        )
      }
    }
  }

  /// Removes a pack's file and row.
  package func drop(_ pack: StoredPack, of channel: Int64) throws(StoreError) {
    let path = path(of: pack, channel)
    try forgetFiles([path])
    try StoreError.disk { () throws(SystemError) in try removeFile(path) }
  }

  /// The form of a stored pack; nil if its file can't be read.
  package func format(of pack: StoredPack, _ channel: Int64) -> PackFormat? {
    var bytes = [UInt8](repeating: 0, count: PackHead.magicCount)
    guard let file = try? Kernel.openExisting(path(of: pack, channel), [.read, .nonBlocking]),
      let read = try? bytes.withUnsafeMutableBytes({ try Kernel.read(file, at: 0, into: $0) }),
      read == bytes.count
    else { return nil }
    return PackHead.format(bytes)
  }

  /// Opens a stored pack and checks its bytes; nil if there is none.
  package func openPack(_ path: PackPath, of channel: Int64) throws(StoreError) -> DerivedFile? {
    try openFile(packFile(path, of: channel))
  }

  /// Reads a stored pack back, and removes it if it is bad; then whoever has it open is told.
  package func isWhole(_ pack: StoredPack, of channel: Int64) throws(StoreError) -> Bool {
    let found = try scrub("packs/\(channel)/\(Self.fileName(pack))") { _ in true }
    return found != .bad && found != .gone
  }

  /// The path of a pack's file, whether or not it exists.
  package func packFile(_ pack: StoredPack, of channel: ChannelInfo) -> String { path(of: pack, channel.id) }

  /// The path of the file of a pack's download path, whether or not it exists.
  package func packFile(_ path: PackPath, of channel: Int64) -> String {
    "\(folder.packs(of: channel))/\(path.fileName)"
  }

  /// Inserts the row of a pack whose file exists by now.
  func note(_ pack: StoredPack, _ ends: PackEnds, of channel: Int64, in db: Database) throws(StoreError) {
    try db.run(
      """
      INSERT OR REPLACE INTO pack (channel_id, base, version, ends, sha256, size, pushed)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, channel, pack.base.number, pack.version.number, ends.key, pack.sha256, pack.size,
      pack.isPushed ? 1 : 0)
  }

  /// Forgets a pack whose file is gone or was bad, so that it is built again.
  /// - Parameter path: the file's path below `derived/`.
  func forgetPack(at path: String) throws(StoreError) {
    guard let file = PackFile(path) else { return }
    try transaction { (db) throws(StoreError) in
      try Self.delete(file, in: db)
      try db.run("DELETE FROM done WHERE channel_id = ? AND base = ?", file.channel, file.base.number)
    }
  }

  /// Whether there is a row of the pack whose file has this path below `derived/`.
  func hasPack(at path: String) throws(StoreError) -> Bool {
    guard let file = PackFile(path) else { return false }
    return try work { (db) throws(StoreError) in
      try db.first(
        """
        SELECT 1 FROM pack WHERE channel_id = ?1 AND base = ?2 AND version = ?3
        AND substr(hex(sha256), 1, 16) = ?4
        """, file.channel, file.base.number, file.version.number, file.mark.uppercased()
      ) { _ in true } ?? false
    }
  }

  /// Deletes the row of a pack.
  static func delete(_ file: PackFile, in db: Database) throws(StoreError) {
    try db.run(
      """
      DELETE FROM pack WHERE channel_id = ?1 AND base = ?2 AND version = ?3 AND substr(hex(sha256), 1, 16) = ?4
      """, file.channel, file.base.number, file.version.number, file.mark.uppercased())
  }

  func path(of pack: StoredPack, _ channel: Int64) -> String {
    "\(folder.packs(of: channel))/\(Self.fileName(pack))"
  }

  private static func fileName(_ pack: StoredPack) -> String {
    PackFile.name(pack.base, pack.version, pack.sha256)
  }
}

/// A stored pack as identified by its path: `packs/<channel>/<A>-<B>-<mark>.xpk` below `derived/`.
struct PackFile {
  let channel: Int64
  let base: ManifestVersion
  let version: ManifestVersion
  /// The first 16 hexadecimal digits of its SHA-256.
  let mark: String

  /// Parses the end of a path; nil if it isn't a pack's.
  init?(_ path: String) {
    let parts = path.split(separator: "/").suffix(3)
    guard parts.count == 3, parts.first == "packs", let name = parts.last, name.hasSuffix(".xpk"),
      let channel = Int64(parts[parts.startIndex + 1])
    else { return nil }
    let words = name.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
    guard words.count == 3, let base = ManifestVersion(text: words[0]),
      let version = ManifestVersion(text: words[1]), words[2].utf8.count == 16
    else { return nil }
    self.channel = channel
    self.base = base
    self.version = version
    mark = String(words[2])
  }

  static func name(_ base: ManifestVersion, _ version: ManifestVersion, _ sha256: SHA256) -> String {
    "\(base)-\(version)-\(sha256.hex.prefix(16)).xpk"
  }
}
