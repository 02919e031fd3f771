import System

/// A folder that stood where only files of this program belong.
package struct UnexpectedFolder: Hashable, Sendable {
  /// Where it was found.
  package let path: String
  /// Where it was put; nil: it stays, since it couldn't be moved.
  package let place: String?
}

/// Where things are in an origin's data folder.
package struct DataFolder: Sendable {
  /// The folder itself.
  package let path: String

  package init(path: String) { self.path = path }

  /// Everything but bytes (SQLite).
  package var database: String { path + "/xcache.db" }
  /// Held by the one process that writes.
  package var lock: String { path + "/lock" }
  /// The first admin token, for the person who owns the folder (mode 0600).
  package var adminToken: String { path + "/admin.token" }
  /// Bytes by their sha256.
  package var blobs: String { path + "/blobs" }
  /// Room that is given up when others have filled the disk (`DiskReserve`).
  package var reserve: String { path + "/reserve" }
  /// What is arriving.
  package var temporary: String { path + "/tmp" }
  /// Files that arrived whole and belong to no release yet, by sha256.
  package var whole: String { path + "/tmp/whole" }
  /// An empty file whose time says when files were last made under `blobs/` ahead of their release.
  var unreleased: String { path + "/unreleased" }
  /// Blobs whose bytes were found to be others than their name says.
  package var quarantine: String { path + "/quarantine" }
  /// Files that can be made again.
  package var derived: String { path + "/derived" }
  /// What is known of those (SQLite).
  package var derivedDatabase: String { path + "/derived.db" }
  /// Zips of bundles, by channel.
  package var zips: String { path + "/derived/zips" }

  /// Packs, by channel.
  package var packs: String { path + "/derived/packs" }

  /// A channel's packs, which can be made again.
  func packs(of channel: Int64) -> String { "\(packs)/\(channel)" }

  /// Zips of a channel's files, which can be made again.
  package func zips(of channel: ChannelInfo) -> String { "\(zips)/\(channel.id)" }

  /// `blobs/ab`, where the blobs live whose digest begins with `ab`.
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

  /// Removes a file; a folder in its place is someone's, and set aside.
  func remove(_ path: String, as name: String, now: Int64) throws(SystemError) {
    do {
      try Kernel.remove(path)
    } catch  where error.code == .isDirectory {
      _ = try setAside(path, as: name, now: now)
    }
  }

  /// Puts what isn't this program's under `quarantine/`.
  /// - Returns: where it is then.
  func setAside(_ path: String, as name: String, now: Int64) throws(SystemError) -> String {
    let place = "\(quarantine)/\(name)-\(now)"
    try Kernel.rename(path, to: place)
    return place
  }

  /// Makes the folders that are missing, durably, all of `blobs/00` to `blobs/ff` among them: a release then has
  /// none to make.
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

  /// Makes `blobs/00` to `blobs/ff` where they are missing.
  /// - Returns: whether one was made.
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
