import System
import Values

/// A folder that holds a copy of an origin's data, laid out like a data folder.
///
/// `xcache.db` is renamed into place once every file that it names is on the disk, so that a run that is interrupted at
/// any time leaves the earlier copy. `backup.json` describes the last finished run.
struct BackupFolder {
  let folder: DataFolder

  init(_ path: String) { folder = DataFolder(path: path) }

  /// The year 10000, in milliseconds since 1970.
  private static let latest: Int64 = 253_402_300_800_000

  var notes: String { folder.path + "/backup.json" }
  var partialDatabase: String { folder.database + ".part" }

  /// Locks the folder for this run; creates it if it is missing.
  func lock() throws(StoreError) -> FolderLock {
    let lock = try folder.take()
    _ = try StoreError.disk { () throws(SystemError) in try folder.makeBlobFolders() }
    return lock
  }

  /// The id of the origin whose data it holds; nil if it holds none.
  func originID() throws(StoreError) -> String? {
    guard try StoreError.disk({ () throws(SystemError) in try Kernel.status(folder.database) }) != nil else {
      return nil
    }
    return try Database(path: folder.database, .reading).value(String.self, "SELECT id FROM origin")
  }

  /// When its last run finished, in milliseconds since 1970; without notes of it, when its database was written.
  func madeAt() throws(StoreError) -> Int64 {
    try StoreError.disk { () throws(SystemError) in
      let notes = try DurableFile.read(notes).flatMap { try? JSONValue.parse($0) }
      if let at = notes?["at"]?.integer, at > 0, at < Self.latest { return at }
      let written = try Kernel.status(folder.database)?.modified ?? 0
      return written / 1_000_000
    }
  }

  /// Moves a finished database into place, after everything it depends on is on the disk.
  func install() throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      try sync()
      // Files that SQLite left of the previous database don't belong to the new one.
      for ending in ["-wal", "-shm"] { try Kernel.remove(folder.database + ending) }
      try Kernel.rename(partialDatabase, to: folder.database)
      try Kernel.syncFolder(folder.path)
    }
  }

  func sync() throws(SystemError) {
    try Kernel.syncFileSystem(Kernel.open(folder.path, [.read, .directory]))
  }

  func removePartialDatabase() throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      for ending in ["", "-journal", "-wal", "-shm"] { try Kernel.remove(partialDatabase + ending) }
    }
  }
}

extension BackupFolder {
  /// - Throws: `badBackupPlace` if something else is in the folder.
  func refuseUnrelatedFiles() throws(StoreError) {
    let path = folder.path
    let (copy, isUnrelated) = try StoreError.disk { () throws(SystemError) in
      (try Folder.holder(of: "mirror.json", from: path), try hasUnrelatedBlobs())
    }
    if let copy {
      throw .badBackupPlace(
        path: path,
        reason: "\(copy) is a static copy that the web may read, and a backup has tokens and names")
    }
    if isUnrelated {
      throw .badBackupPlace(path: path, reason: "it has files in blobs, and isn't a backup")
    }
    if let other = try StoreError.disk({ () throws(SystemError) in try unrelatedFile() }) {
      throw .badBackupPlace(path: path, reason: "it holds other files, such as \(other), and no backup")
    }
  }

  /// The name of a file that no run of `backup` creates, in a folder that holds no backup: a web build, say, which
  /// would be published along with the origin's tokens.
  private func unrelatedFile() throws(SystemError) -> String? {
    for own in [folder.database, notes, partialDatabase] where try Kernel.status(own) != nil { return nil }
    guard try Kernel.status(folder.path)?.kind == .folder else { return nil }
    let made = [folder.lock, folder.blobs].map { $0.dropFirst(folder.path.count + 1) }
    return try Folder.textNames(folder.path).sorted().first { name in
      // Present in the root of a file system.
      name != "lost+found" && !made.contains(name[...])
    }
  }

  /// Whether `blobs` has files that can't come from a run of `backup`, which creates a database first.
  private func hasUnrelatedBlobs() throws(SystemError) -> Bool {
    for own in [folder.database, notes, partialDatabase] where try Kernel.status(own) != nil { return false }
    guard let blobs = try Kernel.status(folder.blobs) else { return false }
    if blobs.kind != .folder { return true }
    for name in try Folder.names(folder.blobs) {
      guard let name = String(validating: name, as: UTF8.self),
        try Kernel.status("\(folder.blobs)/\(name)")?.kind == .folder,
        try Folder.names("\(folder.blobs)/\(name)").isEmpty
      else { return true }
    }
    return false
  }

  /// Opens a blob's file; nil if there is none, or it can't be read.
  func openBlob(_ sha256: SHA256) throws(SystemError) -> Descriptor? {
    do throws(SystemError) {
      return try FileBatch.open(folder.blob(sha256))
    } catch  where error.isOfFile {
      return nil
    }
  }
}

extension BackupFolder {
  /// Removes blobs that `keeping` doesn't contain and partial files of interrupted runs; nothing else.
  /// - Returns: how many files were removed.
  func sweep(keeping: Set<SHA256>) throws(StoreError) -> Int {
    var removed = 0
    try StoreError.disk { () throws(SystemError) in
      for byte in UInt8.min...UInt8.max {
        let prefix = Hex.encode([byte].span.bytes)
        guard try Kernel.status("\(folder.blobs)/\(prefix)")?.kind == .folder else { continue }
        for name in try Folder.textNames("\(folder.blobs)/\(prefix)") {
          let path = "\(folder.blobs)/\(prefix)/\(name)"
          if let sha256 = SHA256(hex: prefix + name) {
            if keeping.contains(sha256) { continue }
          } else if !name.hasSuffix(".part") || SHA256(hex: prefix + name.dropLast(5)) == nil {
            continue
          }
          guard try Kernel.status(path, followLinks: false)?.kind == .file else { continue }
          try Kernel.remove(path)
          removed += 1
        }
      }
    }
    return removed
  }
}
