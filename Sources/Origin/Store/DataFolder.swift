import System

/// A folder found where only this program's files belong.
package struct UnexpectedFolder: Hashable, Sendable {
  /// Where it was found.
  package let path: String
  /// Where it was moved to; nil if it couldn't be moved.
  package let movedTo: String?
}

/// The paths inside an origin's data folder.
package struct DataFolder: Sendable {
  /// The path of the folder itself.
  package let path: String

  package init(path: String) { self.path = path }

  /// The SQLite database, which holds everything but the files' bytes.
  package var database: String { path + "/xcache.db" }
  /// The lock file, held by the one process that writes.
  package var lock: String { path + "/lock" }
  /// The first admin token, for the folder's owner (mode 0600).
  package var adminToken: String { path + "/admin.token" }
  /// The blobs, each named by its SHA-256.
  package var blobs: String { path + "/blobs" }
  /// Disk space that is given up when other programs have filled the disk (`DiskReserve`).
  package var reserve: String { path + "/reserve" }
  /// Files that are being received.
  package var temporary: String { path + "/tmp" }
  /// Files that arrived complete but belong to no release yet, by SHA-256.
  package var whole: String { path + "/tmp/whole" }
  /// An empty file whose modification time says when files were last created under `blobs/` before their release.
  var unreleased: String { path + "/unreleased" }
  /// Blobs whose bytes don't match their name.
  package var quarantine: String { path + "/quarantine" }
  /// Files that can be rebuilt.
  package var derived: String { path + "/derived" }
  /// The SQLite database about the files in `derived`.
  package var derivedDatabase: String { path + "/derived.db" }
  /// The folder of zips, with one folder per channel.
  package var zips: String { path + "/derived/zips" }

  /// The private keys with which heads are signed, for the folder's owner (mode 0700).
  package var keys: String { path + "/keys" }

  /// The folder of packs, with one folder per channel.
  package var packs: String { path + "/derived/packs" }

  /// The folder of a channel's packs, which can be rebuilt.
  func packs(of channel: Int64) -> String { "\(packs)/\(channel)" }

  /// The folder of zips of a channel's files, which can be rebuilt.
  package func zips(of channel: ChannelInfo) -> String { "\(zips)/\(channel.id)" }

  /// `blobs/ab`, the folder of the blobs whose digest begins with `ab`.
  package func blobFolder(_ sha256: SHA256) -> String { "\(blobs)/\(sha256.hex.prefix(2))" }

  /// `blobs/ab/cdef…`
  package func blob(_ sha256: SHA256) -> String {
    var text = Array("\(path)/blobs/".utf8)
    let start = text.count
    sha256.appendHex(to: &text)
    text.insert(UInt8(ascii: "/"), at: start + 2)
    return String(decoding: text, as: UTF8.self)
  }

  func whole(_ sha256: SHA256) -> String { "\(whole)/\(sha256.hex)" }

  /// Removes a file. A folder in its place isn't this program's, and is moved to `quarantine/`.
  func remove(_ path: String, as name: String, now: Int64) throws(SystemError) {
    do {
      try Kernel.remove(path)
    } catch  where error.code == .isDirectory {
      _ = try setAside(path, as: name, now: now)
    }
  }

  /// Moves something that isn't this program's to `quarantine/`.
  /// - Returns: its new path.
  func setAside(_ path: String, as name: String, now: Int64) throws(SystemError) -> String {
    let target = "\(quarantine)/\(name)-\(now)"
    try Kernel.rename(path, to: target)
    return target
  }

  /// Creates the missing folders durably, including all of `blobs/00` to `blobs/ff`, so that a release has none to create.
  func makeFolders() throws(SystemError) {
    for folder in [path, blobs, temporary, whole, quarantine] where try Kernel.status(folder) == nil {
      try Kernel.makeFolder(folder, mode: 0o750)
    }
    let made = try makeBlobFolders()
    guard made else { return }
    try Kernel.syncFolder(blobs)
    try Kernel.syncFolder(path)
    try Kernel.syncFolder(DurableFile.parent(of: path))
  }

  /// Creates those of `blobs/00` to `blobs/ff` that are missing.
  /// - Returns: whether any was created.
  @discardableResult
  func makeBlobFolders() throws(SystemError) -> Bool {
    var made = false
    for byte in UInt8.min...UInt8.max {
      let folder = "\(blobs)/\(Hex.encode([byte].span.bytes))"
      if try Kernel.status(folder) != nil { continue }
      try Kernel.makeFolder(folder, mode: 0o750)
      made = true
    }
    return made
  }
}

extension DataFolder {
  /// Refuses a folder with something else in it, such as a build, as the place of a new origin. A folder with a database is
  /// taken as it is.
  /// - Throws: `foreignFolder`.
  package func refuseForeign() throws(StoreError) {
    let found = try StoreError.disk { () throws(SystemError) -> String? in
      if try Kernel.status(path)?.kind != .folder { return nil }
      if try Kernel.status(database) != nil { return nil }
      let own = [
        database, lock, adminToken, blobs, reserve, temporary, unreleased, quarantine, derived, keys,
      ].map {
        String($0.dropFirst(path.count + 1))
      }
      // A file system has this one from the start.
      return try Folder.textNames(path).sorted().first { name in
        name != "lost+found" && !own.contains { name.hasPrefix($0) }
      }
    }
    if let found { throw .foreignFolder(path: path, name: found) }
  }

  /// Takes the folder for this process; creates it if it is missing.
  /// - Throws: `inUse`.
  func take() throws(StoreError) -> FolderLock {
    let taken = try StoreError.disk { () throws(SystemError) in
      try Kernel.makeFolder(path, mode: 0o750)
      return try FolderLock.take(path, file: lock)
    }
    guard let taken else { throw .inUse(path: path, process: FileLock.holder(lock)) }
    return taken
  }

  /// Checks that a lock still holds the folder.
  /// - Throws: `lostFolder`.
  func check(_ taken: FolderLock?) throws(StoreError) {
    guard let taken else { return }
    let isHeld = try StoreError.disk { () throws(SystemError) in try taken.isHeld() }
    if !isHeld { throw .lostFolder(path: path) }
  }
}
