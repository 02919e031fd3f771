import Manifests
import System

/// Finds files under `derived/` whose blobs or versions aren't kept.
struct DerivedSweep {
  let store: Store

  /// The files that can be removed now. Forgets the records about them and about blobs that are gone.
  func unneeded() throws(StoreError) -> [String] {
    // Files and rows first, because what is made after that is made from kept content. Then files that wait for a
    // release, because deltas are made while it is only planned. Rows of blobs last, because a release may move a
    // waiting file there.
    let files = try files()
    let packs = try store.derived.packs()
    let ends = try PackRows(store.derived)
    let known = try store.derived.known()
    let waiting = store.blobs.waitingNames
    let (rows, releases) = try store.connections.reading { (db) throws(StoreError) in
      (Set(try BlobRow.names(in: db).map(\.hex)), try Releases(db, ends))
    }
    let blobs = waiting.union(rows)
    try store.derived.forget(known, keeping: blobs)
    try store.derived.forgetRefusals(exceptOf: releases.newest)
    // A version that was made since is looked at once more.
    try store.derived.forgetDone(keeping: releases.kept)
    try store.derived.forgetFiles(lostPacks(packs, releases))
    return filter(files, blobs, releases)
  }

  /// The packs of versions that are gone whose files are gone, too: a version may be removed while its pack is being made.
  private func lostPacks(_ packs: [(channel: Int64, pack: StoredPack)], _ releases: Releases)
    throws(StoreError)
    -> [String]
  {
    let now = store.clock()
    let unneeded = packs.map { store.derived.path(of: $0.pack, $0.channel) }.filter { path in
      PackFile(path).map { !releases.needs($0, now: now) } ?? false
    }
    return try StoreError.disk { () throws(SystemError) in
      var lost: [String] = []
      for path in unneeded where try Kernel.status(path) == nil { lost.append(path) }
      return lost
    }
  }

  /// The files that could be removed if these were the only blobs and versions, by channel id.
  func unneeded(blobs: Set<String>, versions: [String: Set<Int64>]) throws(StoreError) -> [String] {
    var releases = try store.connections.reading {
      [ends = try PackRows(store.derived)] (db) throws(StoreError) in
      try Releases(db, ends)
    }
    releases.kept = versions
    return filter(try files(), blobs.union(store.blobs.waitingNames), releases)
  }

  /// What each pack was made from. A number alone doesn't tell: that of a release that was refused is given to the next one.
  private struct PackRows {
    private var rows: [String: (mark: String, key: SHA256)] = [:]
    /// The first packs of each channel, and when each was made or, later, read back.
    private var firsts: [Int64: [(pack: PackFile, at: Int64)]] = [:]

    init(_ derived: DerivedStore) throws(StoreError) {
      for (path, at) in try derived.firstPackTimes() {
        if let pack = PackFile(path) { firsts[pack.channel, default: []].append((pack, at)) }
      }
      for row in try derived.packRows() {
        rows["\(row.channel)/\(row.pack.base)-\(row.pack.version)"] = (
          String(row.pack.sha256.hex.prefix(16)), row.ends
        )
      }
    }

    /// Whether a pack leads from and to what these versions are, as far as is known.
    func hold(_ pack: PackFile, _ digests: [Int64: SHA256]) -> Bool {
      guard let row = rows["\(pack.channel)/\(pack.base)-\(pack.version)"] else { return false }
      guard let base = digests[pack.base.number], let version = digests[pack.version.number] else {
        return false
      }
      return row.mark == pack.mark && row.key == PackEnds.key(base, version)
    }

    /// When another one took a first pack's place, at the earliest; nil if none has.
    func replacement(of first: PackFile, _ digests: [Int64: SHA256]) -> Int64? {
      (firsts[first.channel] ?? []).filter { $0.pack.version > first.version && hold($0.pack, digests) }
        .map(\.at).min()
    }
  }

  /// The releases of each channel.
  private struct Releases {
    /// The kept versions, by the channel's id as in folder names.
    var kept: [String: Set<Int64>] = [:]
    /// The versions that each channel answers with: the newest, and the full one beside an open candidate.
    private(set) var newest: [Int64: Set<Int64>] = [:]
    /// When each version was replaced by the next one, in milliseconds since 1970; those that answers lead to have no entry.
    private var replaced: [String: [Int64: Int64]] = [:]

    private let digests: [Int64: [Int64: SHA256]]
    private let rows: PackRows

    init(_ db: Database, _ rows: PackRows) throws(StoreError) {
      self.rows = rows
      digests = try ReleaseRow.digests(in: db)
      var last: [Int64: Int64] = [:]
      try db.each("SELECT channel_id, version, at FROM release ORDER BY channel_id, version") { row in
        let (channel, version) = (row.get(0, as: Int64.self), row.get(1, as: Int64.self))
        if let before = last[channel] { replaced[String(channel), default: [:]][before] = row.get(2) }
        last[channel] = version
        kept[String(channel), default: []].insert(version)
      }
      newest = last.mapValues { [$0] }
      try db.each("SELECT channel_id, full_version FROM rollout WHERE state = 'open'") { row in
        let (channel, version) = (row.get(0, as: Int64.self), row.get(1, as: Int64.self))
        newest[channel, default: []].insert(version)
        replaced[String(channel)]?[version] = nil
      }
    }

    /// Whether a pack stays: it leads to the newest version, or to one that devices were told about until recently. A first pack
    /// stays until a newer one has taken its place, and as long again.
    func needs(_ pack: PackFile, now: Int64) -> Bool {
      let channel = String(pack.channel)
      guard let kept = kept[channel], pack.base == .none || kept.contains(pack.base.number),
        kept.contains(pack.version.number)
      else {
        return false
      }
      guard rows.hold(pack, digests[pack.channel] ?? [:]) else { return false }
      if pack.base == .none {
        let replaced = rows.replacement(of: pack, digests[pack.channel] ?? [:])
        return replaced.map { now - $0 < DerivedSweep.packGracePeriod } ?? true
      }
      guard let replaced = replaced[channel]?[pack.version.number] else { return true }
      return now - replaced < DerivedSweep.packGracePeriod
    }
  }

  /// How long a pack stays after its version was replaced, in milliseconds: as long as a device may have the response
  /// that names it, or may resume an interrupted download.
  private static let packGracePeriod: Int64 = 24 * 3_600_000

  private struct File {
    let path: String
    /// The name of the folder that contains it.
    let folder: String
    let name: String
    let kind: Kind

    enum Kind { case ofBlob, zip, pack }
  }

  private func filter(_ files: [File], _ blobs: Set<String>, _ releases: Releases) -> [String] {
    let now = store.clock()
    return files.filter { file in
      switch file.kind {
      case .ofBlob: !Self.isNeeded(file.folder + file.name, blobs)
      case .zip: !Self.isNeeded(zip: file.name, releases.kept[file.folder] ?? [])
      case .pack: PackFile(file.path).map { !releases.needs($0, now: now) } ?? false
      }
    }.map(\.path)
  }

  /// `553.<key>.<tag>.zip`, `552-553.<key>.<tag>.zip` and `552-553.delta.<key>.<tag>.zip`: both versions of an update must be kept.
  private static func isNeeded(zip name: String, _ versions: Set<Int64>) -> Bool {
    name.prefix { $0 != "." }.split(separator: "-").allSatisfy { text in
      Int64(text).map { $0 == 0 || versions.contains($0) } ?? true
    }
  }

  /// `<sha256>.gzip`, `<sha256>.<sha256 of the base>.dcz`: every blob in the name must be stored. Names of another form
  /// aren't this program's.
  private static func isNeeded(_ name: String, _ blobs: Set<String>) -> Bool {
    name.split(separator: ".").allSatisfy { part in
      part.utf8.count != 64 || SHA256(hex: String(part)) == nil || blobs.contains(String(part))
    }
  }

  private func files() throws(StoreError) -> [File] {
    try StoreError.disk { () throws(SystemError) in
      var files: [File] = []
      let root = store.folder.path + "/derived"
      guard try Kernel.status(root) != nil else { return files }
      for folder in try Folder.textNames(root) where folder.utf8.count == 2 {
        for name in try Folder.textNames("\(root)/\(folder)") {
          files.append(File(path: "\(root)/\(folder)/\(name)", folder: folder, name: name, kind: .ofBlob))
        }
      }
      for (channel, name) in try store.folder.zipNames() where name.hasSuffix(".zip") {
        let path = "\(store.folder.zips)/\(channel)/\(name)"
        files.append(File(path: path, folder: channel, name: name, kind: .zip))
      }
      for (channel, name) in try store.folder.packNames() where name.hasSuffix(".xpk") {
        let path = "\(store.folder.packs)/\(channel)/\(name)"
        files.append(File(path: path, folder: channel, name: name, kind: .pack))
      }
      return files
    }
  }
}
