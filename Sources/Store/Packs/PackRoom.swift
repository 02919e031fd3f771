import Manifests
import System

extension Store {
  /// Removes packs to versions that were replaced, the largest first and of two the older, until those that stay and
  /// `size` more bytes fit into `room`. Those to newest versions stay: devices are told of them.
  /// - Returns: whether they fit.
  package func makePackRoom(_ room: Int64, for size: Int64) throws(StoreError) -> Bool {
    let packs = try derived.packs()
    var total = packs.reduce(Int64(0)) { $0.addingClamped($1.pack.size) }
    if size <= room - total { return true }
    var newest: [Int64: ManifestVersion] = [:]
    for channel in try channels() { newest[channel.id] = channel.version }
    let replaced = packs.filter { newest[$0.channel] != $0.pack.version }.sorted {
      $0.pack.size == $1.pack.size ? $0.pack.version < $1.pack.version : $0.pack.size > $1.pack.size
    }
    for (channel, pack) in replaced where size > room - total {
      try derived.remove(pack, of: channel)
      total -= pack.size
    }
    return size <= room - total
  }

  /// Packs whose file isn't there with its size, or, of a deep look, with its bytes.
  func badPacks(deep: Bool) throws(StoreError) -> (count: Int, bad: [String]) {
    // An older xcache's derived.db has none.
    guard let packs = try? derived.packs() else { return (0, []) }
    var bad: [String] = []
    for (channel, pack) in packs {
      let path = derived.path(of: pack, channel)
      let isGood = try StoreError.disk { () throws(SystemError) in
        guard try Kernel.status(path)?.size == pack.size else { return false }
        guard deep else { return true }
        if case .read(let sha256, _) = try DiskDigest.of(path, goesOn: { _ in true }) {
          return sha256 == pack.sha256
        }
        return false
      }
      // Gone meanwhile, beside a server.
      if !isGood, try derived.packs().contains(where: { $0.channel == channel && $0.pack == pack }) {
        bad.append(path)
      }
    }
    return (packs.count, bad)
  }
}

extension DerivedStore {
  /// Every pack that is kept, with its channel's number.
  package func packs() throws(StoreError) -> [(channel: Int64, pack: StoredPack)] {
    try work { (db) throws(StoreError) in
      try db.all(
        "SELECT channel_id, base, version, sha256, size, pushed FROM pack WHERE sha256 IS NOT NULL"
      ) { row in
        (
          channel: row.get(0, as: Int64.self),
          pack: StoredPack(
            base: row.version(1), version: row.version(2), sha256: row.get(3), size: row.get(4),
            isPushed: row.get(5, as: Int64.self) != 0)
        )
      }
    }
  }

  fileprivate func remove(_ pack: StoredPack, of channel: Int64) throws(StoreError) {
    let path = path(of: pack, channel)
    try forgetFiles([path])
    try StoreError.disk { () throws(SystemError) in try removeFile(path) }
  }

  /// Forgets which packs to versions other than channels' newest ones weren't worth keeping.
  func forgetRefusals(exceptOf newest: [Int64: Int64]) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      let rows = try db.all("SELECT DISTINCT channel_id, version FROM pack WHERE sha256 IS NULL") { row in
        (channel: row.get(0, as: Int64.self), version: row.get(1, as: Int64.self))
      }
      for row in rows where newest[row.channel] != row.version {
        try db.run(
          "DELETE FROM pack WHERE channel_id = ? AND version = ? AND sha256 IS NULL", row.channel, row.version
        )
      }
    }
  }
}

extension DataFolder {
  /// Every file under `derived/packs`, by its channel's folder.
  func packNames() throws(SystemError) -> [(channel: String, name: String)] {
    guard try Kernel.status(packs) != nil else { return [] }
    var names: [(channel: String, name: String)] = []
    for channel in try Folder.textNames(packs) {
      for name in try Folder.textNames("\(packs)/\(channel)") { names.append((channel, name)) }
    }
    return names
  }
}
