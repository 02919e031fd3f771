import System

/// An open file under `derived/` whose bytes were checked.
package struct DerivedFile: ~Copyable, Sendable {
  /// The file, open for reading.
  package let file: Descriptor
  /// The path of the file.
  package let path: String
  /// The size in bytes.
  package let size: Int64
  /// The digest of its bytes, as just read.
  package let sha256: SHA256

  /// Transfers the file to the caller.
  package consuming func takeFile() -> Descriptor { file }
}

// Only a device that decodes a compressed body can tell whether it is the right one. So the digest of each file is
// recorded when it is made; a file without one, as after `derived.db` was lost, counts as missing and is made again.
extension DerivedStore {
  /// What a file was when it was made.
  private struct Record {
    /// Its SHA-256, or the part of it that is known.
    let digest: [UInt8]

    func agrees(with sha256: SHA256) -> Bool { sha256.bytes.starts(with: digest) }
  }

  /// Stores a file: its row first, so that whoever opens the file can compare it.
  /// - Throws: `diskFull` also if it would use the space left for the database.
  package func keepFile(_ bytes: [UInt8], at path: String) throws(StoreError) {
    try space.taking(FileSpace.blockSize + bytes.count) { () throws(StoreError) in
      try noteFile(path, SHA256.of(bytes), size: Int64(bytes.count))
      try StoreError.disk { () throws(SystemError) in
        let folder = DurableFile.parent(of: path)
        if try Kernel.status(folder) == nil { try Kernel.makeFolder(folder, mode: 0o750) }
        // Durable although it could be rebuilt, because a power cut must not leave part of it under its name.
        try DurableFile.write(bytes, to: path)
      }
    }
  }

  /// Records the digest of a file that is about to be created.
  func noteFile(_ path: String, _ sha256: SHA256, size: Int64) throws(StoreError) {
    let (name, now) = (name(path), clock())
    try work { (db) throws(StoreError) in
      try db.run(
        "INSERT OR REPLACE INTO file (path, digest, size, checked_at) VALUES (?, ?, ?, ?)", name, sha256,
        size,
        now)
    }
  }

  /// Opens a file and checks its bytes; nil if there is none, or a bad one was removed.
  package func openFile(_ path: String) throws(StoreError) -> DerivedFile? {
    switch try StoreError.disk({ () throws(SystemError) in try Kernel.openFile(path) }) {
    case .missing:
      try noteGone(path)
      return nil
    case .other(let inode):
      try drop(path, inode: inode, isBad: true)
      return nil
    case .file(let file, let status): return try checked(file, status, path)
    }
  }

  private func checked(_ file: consuming Descriptor, _ status: FileStatus, _ path: String) throws(StoreError)
    -> DerivedFile?
  {
    guard let record = try record(path) else {
      try drop(path, inode: status.inode, isBad: false)
      return nil
    }
    let found: SHA256?
    do {
      found = try DiskDigest.of(file)
    } catch  where error.isDamage {
      found = nil
    } catch {
      throw StoreError(error)
    }
    guard let found, record.agrees(with: found) else {
      try drop(path, inode: status.inode, isBad: true)
      return nil
    }
    return DerivedFile(file: file, path: path, size: status.size, sha256: found)
  }

  /// A zip's file when it was hashed. Modification times aren't compared, because they record its last use.
  struct ZipOnDisk: Equatable {
    let inode: UInt64
    let size: Int64
  }

  /// Whether a zip exists with the right bytes; hashed at its first use after the start.
  func hasWholeZip(_ path: String) throws(StoreError) -> Bool {
    let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(path) }
    guard let status else { return false }
    let file = ZipOnDisk(inode: status.inode, size: status.size)
    if wholeZips.withLock({ $0[path] == file }) { return true }
    guard try openFile(path) != nil else { return false }
    wholeZips.withLock { $0[path] = file }
    return true
  }

  /// The files that have a row, with their sizes.
  func files() throws(StoreError) -> [(name: String, size: Int64)] {
    try work { (db) throws(StoreError) in
      try db.all("SELECT path, size FROM file ORDER BY path") { (name: $0.get(0), size: $0.get(1)) }
    }
  }

  /// Whether a file exists and has other bytes than those recorded when it was made; changes nothing.
  func isWrong(_ name: String) throws(StoreError) -> Bool {
    let path = path(name)
    func differs() throws(StoreError) -> Bool {
      let found = try StoreError.disk { () throws(SystemError) in
        try DiskDigest.of(path, shouldContinue: { _ in true })
      }
      switch found {
      case .missing, .stopped: return false
      case .unreadable: return true
      case .read(let sha256, _): return try record(path).map { !$0.agrees(with: sha256) } ?? false
      }
    }
    // A running server notes the digest before it writes the file: both are read again.
    if try !differs() { return false }
    return try differs()
  }

  /// Reads a file from the disk, and removes it if its bytes are wrong.
  func scrub(_ name: String, _ shouldContinue: (Int) -> Bool) throws(StoreError) -> ScrubResult {
    let path = path(name)
    let found = try StoreError.disk { () throws(SystemError) in
      try DiskDigest.of(path, shouldContinue: shouldContinue)
    }
    switch found {
    case .stopped: return .stopped
    case .missing:
      try forget(name)
      try noteGone(path)
      return .gone
    case .unreadable(let inode):
      try drop(path, inode: inode, isBad: true)
      return .bad
    case .read(let sha256, let inode):
      guard let record = try record(path), !record.agrees(with: sha256) else { return .good }
      try drop(path, inode: inode, isBad: true)
      return .bad
    }
  }

  /// Removes a file and its rows.
  private func drop(_ path: String, inode: UInt64, isBad: Bool) throws(StoreError) {
    wholeZips.withLock { $0[path] = nil }
    // Loops that have it open close it, even if it can't be removed.
    defer { if isBad { changes.derivedIsBad() } }
    let there = try StoreError.disk { () throws(SystemError) in try Kernel.named(path)?.inode }
    // Otherwise it was made again meanwhile.
    guard there == inode else { return }
    try StoreError.disk { () throws(SystemError) in try removeFile(path) }
    try forget(name(path))
    if isBad { try forgetDelta(at: name(path)) }
    try forgetPack(at: name(path))
  }

  /// Forgets a pack whose file someone removed, so that devices are no longer told about it.
  private func noteGone(_ path: String) throws(StoreError) {
    // A request for a file that never existed costs one look-up and notifies nobody.
    guard holds(path), try hasPack(at: name(path)), try isGone(path) else { return }
    try forget(name(path))
    try forgetPack(at: name(path))
    changes.changed()
  }

  private func isGone(_ path: String) throws(StoreError) -> Bool {
    try StoreError.disk { () throws(SystemError) in try Kernel.status(path) == nil }
  }

  /// Removes a file. A folder in its place isn't this program's, and is moved to `quarantine/`.
  func removeFile(_ path: String) throws(SystemError) {
    let name = name(path).split(separator: "/").joined(separator: "-")
    try folder.remove(path, as: "derived-\(name)", now: clock())
  }

  /// Forgets the digests of files that are about to be removed.
  func forgetFiles(_ paths: [String]) throws(StoreError) {
    for part in paths.batches(of: 500) {
      try transaction { (db) throws(StoreError) in
        for path in part {
          try Self.delete(name(path), in: db)
          if let pack = PackFile(name(path)) { try Self.delete(pack, in: db) }
        }
      }
    }
  }

  private func forget(_ name: String) throws(StoreError) {
    try work { (db) throws(StoreError) in try Self.delete(name, in: db) }
  }

  private static func delete(_ name: String, in db: Database) throws(StoreError) {
    try db.run("DELETE FROM file WHERE path = ?", name)
  }

  /// Records that files were read back and are good.
  func noteRead(_ names: [String], at now: Int64) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      for name in names { try db.run("UPDATE file SET checked_at = ? WHERE path = ?", now, name) }
    }
  }

  /// Adds rows for zips that have none yet; a zip's name contains the digest of its bytes.
  func list(_ zips: [(path: String, size: Int64, at: Int64)]) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      for zip in zips {
        try db.run(
          "INSERT INTO file (path, digest, size, checked_at) VALUES (?, x'', ?, ?) ON CONFLICT DO NOTHING",
          zip.path, zip.size, zip.at)
      }
    }
  }

  /// The record of a file; a zip has the first half of its digest in its name.
  private func record(_ path: String) throws(StoreError) -> Record? {
    if path.hasSuffix(".zip") {
      let parts = path.split(separator: ".")
      guard parts.count >= 3, let half = Hex.decode(parts[parts.count - 2], count: 16) else { return nil }
      return Record(digest: half)
    }
    let name = name(path)
    return try work { (db) throws(StoreError) in
      try db.first("SELECT digest FROM file WHERE path = ?", name) { Record(digest: $0.get(0)) }
    }
  }

  /// Whether a path is below `derived/`; files elsewhere aren't checked here.
  func holds(_ path: String) -> Bool { path.hasPrefix(folder.derived + "/") }

  /// The part of a path below `derived/`.
  private func name(_ path: String) -> String { String(path.dropFirst(folder.derived.count + 1)) }

  private func path(_ name: String) -> String { "\(folder.derived)/\(name)" }
}
