import Archive
import Manifests
import System

/// Where things are in an origin's data folder.
package struct DataFolder: Sendable {
  package let path: String

  package var database: String { path + "/xcache.db" }
  package var lock: String { path + "/lock" }
  /// The first admin token, for the person who owns the folder (mode 0600).
  package var adminToken: String { path + "/admin.token" }
  package var blobs: String { path + "/blobs" }
  package var temporary: String { path + "/tmp" }
  /// Files that arrived whole and belong to no release yet, by sha256.
  package var whole: String { path + "/tmp/whole" }
  /// Blobs whose bytes were found to be others than their name says.
  package var quarantine: String { path + "/quarantine" }

  /// `blobs/ab`, where the blobs live whose digest begins with `ab`.
  package func blobFolder(_ sha256: SHA256) -> String { "\(blobs)/\(sha256.hex.prefix(2))" }

  /// `blobs/ab/cdef…`
  package func blob(_ sha256: SHA256) -> String {
    let hex = sha256.hex
    return "\(blobs)/\(hex.prefix(2))/\(hex.dropFirst(2))"
  }

  func whole(_ sha256: SHA256) -> String { "\(whole)/\(sha256.hex)" }

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
}

extension DataFolder {
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

extension DataFolder {
  package var derived: String { path + "/derived" }
  package var derivedDatabase: String { path + "/derived.db" }
}

extension DataFolder {
  /// Zips of a channel's files, which can be made again.
  package func zips(of channel: ChannelInfo) -> String { "\(zips)/\(channel.id)" }
  package var zips: String { path + "/derived/zips" }
}
