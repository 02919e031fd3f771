import Glibc
import Manifests
import Platform

/// A folder that holds a copy of an origin's data, laid out as a data folder is.
///
/// `xcache.db` is renamed into place once every file that it names is on the disk, so that a run that is stopped
/// at any moment leaves the copy from before; `backup.json` tells of the run that ended last.
struct BackupFolder {
  let folder: DataFolder

  init(_ path: String) { folder = DataFolder(path: path) }

  var notes: String { folder.path + "/backup.json" }
  var partialDatabase: String { folder.database + ".part" }

  /// Takes the folder for this run alone; makes it where it is missing.
  func take() throws(StoreError) -> FileLock {
    let lock = try StoreError.disk { () throws(SystemError) in
      try Kernel.makeFolder(folder.path, mode: 0o750)
      return try FileLock.take(folder.lock)
    }
    guard let lock else { throw .inUse(path: folder.path, process: FileLock.holder(folder.lock)) }
    _ = try StoreError.disk { () throws(SystemError) in try folder.makeBlobFolders() }
    return lock
  }

  /// The id of the origin whose data it holds; nil where it holds none.
  func originID() throws(StoreError) -> String? {
    guard try StoreError.disk({ () throws(SystemError) in try Kernel.status(folder.database) }) != nil else {
      return nil
    }
    return try Database(path: folder.database, .reading).value(String.self, "SELECT id FROM origin")
  }

  /// Puts a finished database into its place, with every byte before it on the disk.
  func install() throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      try sync()
      // What SQLite left of the database before belongs to no other.
      for ending in ["-wal", "-shm"] { try Kernel.remove(folder.database + ending) }
      try Kernel.rename(partialDatabase, to: folder.database)
      try Kernel.syncFolder(folder.path)
    }
  }

  func sync() throws(SystemError) {
    try Kernel.syncFileSystem(Kernel.open(folder.path, O_RDONLY | O_DIRECTORY))
  }

  func removePartialDatabase() throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      for ending in ["", "-journal", "-wal", "-shm"] { try Kernel.remove(partialDatabase + ending) }
    }
  }
}

/// A copy of files that are many, made durable together: each gets its name when the bytes of all are on the disk.
struct FileBatch {
  private var parts: [(part: String, path: String)] = []

  /// Copies a file and reads the copy back; nothing has the name `path` before `finish`.
  ///
  /// - Parameter isRight: whether a digest is that of the right bytes.
  /// - Returns: bytes; nil where they aren't those, or the disk doesn't give them: then nothing is kept.
  mutating func copy(
    _ source: borrowing Descriptor, to path: String, isRight: (SHA256) -> Bool
  ) throws(SystemError) -> Int64? {
    // A folder, for one, has no bytes to copy.
    guard try Kernel.status(source).kind == .file else { return nil }
    let part = path + ".part"
    let target = try Kernel.open(part, O_RDWR | O_CREAT | O_TRUNC, mode: 0o640)
    do throws(SystemError) {
      try Kernel.copy(from: source, to: target)
      if isRight(try DiskDigest.of(target)) {
        parts.append((part, path))
        return try Kernel.status(target).size
      }
    } catch  where [EIO, EUCLEAN, EISDIR].contains(error.code) {
      // The disk can't give its bytes, or a folder stands in its place: as if they were others.
    }
    try Kernel.remove(part)
    return nil
  }

  /// - Parameter before: called before each file gets its name.
  mutating func finish(
    in folder: BackupFolder, before: () throws(SystemError) -> Void = {}
  ) throws(SystemError) {
    if parts.isEmpty { return }
    try folder.sync()
    for (part, path) in parts {
      try before()
      // Whoever put a folder there may want what is in it.
      if try Kernel.status(path, followLinks: false)?.kind == .folder {
        try Kernel.rename(path, to: "\(path).aside-\(Clock.unixMilliseconds())")
      }
      try Kernel.rename(part, to: path)
    }
    parts = []
    try folder.sync()
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
