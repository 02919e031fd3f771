import Manifests
import System

extension Store {
  /// Removes packs to versions that were replaced, and first packs that were, the largest first and among equals the oldest,
  /// until the rest and `size` more bytes fit into `quota`; removes none if even that wouldn't be enough. Packs to newest
  /// versions and newest first packs stay, because devices are told about them.
  /// - Parameter first: the channel for whose new first pack it is, so that its others were replaced; nil for another pack.
  /// - Returns: whether there is room.
  package func makePackSpace(_ quota: Int64, for size: Int64, first: Int64? = nil) throws(StoreError) -> Bool
  {
    if try derived.hasSpace(quota, for: size) { return true }
    let packs = try packsByUse(replacing: nil, first: first)
    var total = Self.bytes(packs.newest)
    guard size <= quota - total else { return false }
    total = total.addingClamped(Self.bytes(packs.replaced))
    let replaced = packs.replaced.sorted {
      $0.pack.size == $1.pack.size ? $0.pack.version < $1.pack.version : $0.pack.size > $1.pack.size
    }
    for (channel, pack) in replaced where size > quota - total {
      try derived.remove(pack, of: channel)
      total -= pack.size
    }
    return true
  }

  /// Whether `makePackSpace` would find room for `size` more bytes. `channel` is one that is about to get a newer
  /// version; nil if none is.
  package func hasPackSpace(_ quota: Int64, for size: Int64, replacing channel: Int64? = nil)
    throws(StoreError) -> Bool
  {
    if try derived.hasSpace(quota, for: size) { return true }
    return size <= quota - Self.bytes(try packsByUse(replacing: channel, first: nil).newest)
  }

  /// The most bytes for which `makePackSpace` would find room, if they were a channel's new first pack; 0 or less if there is none.
  package func firstPackRoom(_ quota: Int64, of channel: Int64) throws(StoreError) -> Int64 {
    quota - Self.bytes(try packsByUse(replacing: nil, first: channel).newest)
  }

  private typealias Packs = [(channel: Int64, pack: StoredPack)]

  /// The packs to newest versions, and those to versions that were replaced.
  private func packsByUse(replacing channel: Int64?, first: Int64?) throws(StoreError)
    -> (newest: Packs, replaced: Packs)
  {
    var newest: [Int64: Set<ManifestVersion>] = [:]
    for other in try channels() where other.id != channel { newest[other.id] = other.answeredVersions }
    let packs = try derived.packs()
    let firsts = packs.newestFirsts
    func isNewest(_ channel: Int64, _ pack: StoredPack) -> Bool {
      if pack.isFirst { return channel != first && firsts[channel] == pack.version }
      return newest[channel]?.contains(pack.version) == true
    }
    return (packs.filter { isNewest($0.channel, $0.pack) }, packs.filter { !isNewest($0.channel, $0.pack) })
  }

  private static func bytes(_ packs: Packs) -> Int64 {
    packs.reduce(Int64(0)) { $0.addingClamped($1.pack.size) }
  }

  /// The packs whose file doesn't exist with the right size, or, if `deep`, with the right bytes.
  func badPacks(deep: Bool) throws(StoreError) -> (count: Int, bad: [String]) {
    // The `derived.db` of an older xcache has no packs.
    guard let packs = try? derived.packs() else { return (0, []) }
    var bad: [String] = []
    for (channel, pack) in packs {
      let path = derived.path(of: pack, channel)
      if try isGood(pack, at: path, deep: deep) { continue }
      // A running server may have removed it meanwhile, and may even have made it again.
      let isListed = try derived.packs().contains { $0.channel == channel && $0.pack.sha256 == pack.sha256 }
      if isListed, try !isGood(pack, at: path, deep: deep) { bad.append(path) }
    }
    return (packs.count, bad)
  }

  private func isGood(_ pack: StoredPack, at path: String, deep: Bool) throws(StoreError) -> Bool {
    try StoreError.disk { () throws(SystemError) in
      guard try Kernel.status(path)?.size == pack.size else { return false }
      guard deep else { return true }
      if case .read(let sha256, _) = try DiskDigest.of(path, shouldContinue: { _ in true }) {
        return sha256 == pack.sha256
      }
      return false
    }
  }
}

extension [(channel: Int64, pack: StoredPack)] {
  /// The version of each channel's newest first pack; older ones were replaced by it.
  var newestFirsts: [Int64: ManifestVersion] {
    var newest: [Int64: ManifestVersion] = [:]
    for (channel, pack) in self where pack.isFirst {
      newest[channel] = Swift.max(newest[channel] ?? .none, pack.version)
    }
    return newest
  }
}

extension DerivedStore {
  /// Whether `size` more bytes fit into `quota` besides all packs. They usually do, and then there is no need to read
  /// every channel's row to find out which packs are to newest versions.
  fileprivate func hasSpace(_ quota: Int64, for size: Int64) throws(StoreError) -> Bool {
    let sizes = try work { (db) throws(StoreError) in
      try db.all("SELECT size FROM pack WHERE sha256 IS NOT NULL") { $0.get(0, as: Int64.self) }
    }
    return size <= quota - sizes.reduce(0) { $0.addingClamped($1) }
  }

  /// All stored packs, with their channels' ids.
  package func packs() throws(StoreError) -> [(channel: Int64, pack: StoredPack)] {
    try packRows().map { ($0.channel, $0.pack) }
  }

  fileprivate func remove(_ pack: StoredPack, of channel: Int64) throws(StoreError) {
    let path = path(of: pack, channel)
    try forgetFiles([path])
    try StoreError.disk { () throws(SystemError) in try removeFile(path) }
  }

  /// Deletes the records of packs that weren't worth storing, except those to the versions that channels answer with.
  func forgetRefusals(exceptOf newest: [Int64: Set<Int64>]) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      let rows = try db.all("SELECT DISTINCT channel_id, version FROM pack WHERE sha256 IS NULL") { row in
        (channel: row.get(0, as: Int64.self), version: row.get(1, as: Int64.self))
      }
      for row in rows where newest[row.channel]?.contains(row.version) != true {
        try db.run(
          "DELETE FROM pack WHERE channel_id = ? AND version = ? AND sha256 IS NULL", row.channel, row.version
        )
      }
    }
  }

  /// Deletes the records of versions from which everything is made, where the version isn't kept any more.
  /// - Parameter kept: the kept versions by the channel's id, as in folder names.
  func forgetDone(keeping kept: [String: Set<Int64>]) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      let rows = try db.all("SELECT channel_id, base FROM done") { row in
        (channel: row.get(0, as: Int64.self), base: row.get(1, as: Int64.self))
      }
      for row in rows where kept[String(row.channel)]?.contains(row.base) != true {
        try db.run("DELETE FROM done WHERE channel_id = ? AND base = ?", row.channel, row.base)
      }
    }
  }
}

extension DataFolder {
  /// All files under `derived/packs`, with their channel's folder.
  func packNames() throws(SystemError) -> [(channel: String, name: String)] {
    guard try Kernel.status(packs) != nil else { return [] }
    var names: [(channel: String, name: String)] = []
    for channel in try Folder.textNames(packs) {
      for name in try Folder.textNames("\(packs)/\(channel)") { names.append((channel, name)) }
    }
    return names
  }
}
