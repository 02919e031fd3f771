import System

/// An open blob whose bytes were checked against its name since the start of this process.
package struct StoredBlob: ~Copyable, Sendable {
  /// The file, open for reading.
  package let file: Descriptor
  /// The size in bytes.
  package let size: Int64

  /// Transfers the file to the caller.
  package consuming func takeFile() -> Descriptor { file }
}

extension BlobStore {
  /// A blob's current row; nil if it has none.
  func row(of sha256: SHA256) throws(StoreError) -> BlobRow? {
    try connections.reading { (db) throws(StoreError) in try BlobRow.find(sha256, in: db) }
  }

  /// Opens a blob. The first time since the start, its bytes are hashed.
  /// - Throws: `unknownBlob`; `corruptBlob` if its bytes don't match its name, after moving it to quarantine.
  func open(_ sha256: SHA256) throws(StoreError) -> StoredBlob {
    try open(sha256, verified: state.withLock { $0.verified[sha256] })
  }

  /// Opens a blob and hashes its bytes now, before something is made from them.
  /// - Throws: as `open(_:)`.
  func openChecked(_ sha256: SHA256) throws(StoreError) -> StoredBlob { try open(sha256, verified: nil) }

  /// - Parameters:
  ///   - sha256: the blob's name.
  ///   - verified: the size of the file when it was last hashed; with another size it is hashed again. nil to always hash it.
  private func open(_ sha256: SHA256, verified: Int64?) throws(StoreError) -> StoredBlob {
    while true {
      let found = try StoreError.disk { () throws(SystemError) in try Kernel.openFile(folder.blob(sha256)) }
      switch consume found {
      case .missing:
        guard try isMissing(sha256) else { continue }
      case .other(let inode):
        guard try row(of: sha256) != nil else { throw .unknownBlob(sha256) }
        guard try quarantine(sha256, inode: inode) else { continue }
      case .file(let file, let status):
        let isGood = try status.size == verified ? true : isWhole(sha256, file, size: status.size)
        if isGood {
          return StoredBlob(file: file, size: status.size)
        }
        // If the right bytes came meanwhile, another file has the name now.
        guard try quarantine(sha256, inode: status.inode) else { continue }
      }
      throw .corruptBlob(sha256)
    }
  }

  /// Marks the row of a blob whose file is missing; returns false if the file exists by now.
  /// - Throws: `unknownBlob` if no row says that it should exist.
  private func isMissing(_ sha256: SHA256) throws(StoreError) -> Bool {
    guard let row = try row(of: sha256) else { throw .unknownBlob(sha256) }
    if row.isQuarantined { return true }
    return try quarantine(sha256, inode: nil)
  }

  /// Moves a bad blob to quarantine and marks its row, so that it counts as missing and can be sent again.
  ///
  /// - Parameters:
  ///   - sha256: the blob's name.
  ///   - inode: the inode of what was found bad, whether or not it is a file; nil if nothing was there.
  /// - Returns: false if another file has the name by now, because the right bytes came meanwhile.
  func quarantine(_ sha256: SHA256, inode: UInt64?) throws(StoreError) -> Bool {
    let now = clock()
    let path = folder.blob(sha256)
    // Only the process that has the folder quarantines files, because its loops may have them open.
    if isSecondary { return true }
    // Before anything else: from here on nobody opens it unhashed, whatever fails below.
    checks.withLock { $0[sha256] = nil }
    state.withLock { state in
      state.verified[sha256] = nil
      state.named[sha256] = nil
    }
    return try connections.writing { (db) throws(StoreError) in
      let there = try StoreError.disk { () throws(SystemError) in try Kernel.named(path)?.inode }
      guard there == inode else { return false }
      // Loops that have the file open close it, even if the disk takes no more writes.
      defer { changes.blobIsBad() }
      try BlobRow.markDamaged(sha256, at: now, in: db)
      if inode != nil {
        try StoreError.disk { () throws(SystemError) in
          try disk.rename(path, to: "\(folder.quarantine)/\(sha256.hex)-\(now)")
        }
      }
      return true
    }
  }

  /// Whether the bytes of a blob's file match its name.
  private func isWhole(_ sha256: SHA256, _ file: borrowing Descriptor, size: Int64) throws(StoreError) -> Bool
  {
    do {
      guard try DiskDigest.of(file) == sha256 else { return false }
    } catch  where error.isDamage {
      return false
    } catch {
      throw StoreError(error)
    }
    state.withLock { $0.verified[sha256] = size }
    return true
  }
}

// What `xcache doctor` asks about files; it changes nothing.
extension BlobStore {
  /// What is wrong with a blob's file; nil if nothing is.
  func problem(_ sha256: SHA256, size: Int64, deep: Bool) throws(StoreError) -> String? {
    let path = folder.blob(sha256)
    do {
      switch try Kernel.openFile(path) {
      case .missing: return "is missing"
      case .other: return "is not a regular file"
      case .file(let file, let status):
        if status.size != size { return "has \(status.size) bytes, not \(size)" }
        if deep, try DiskDigest.of(file) != sha256 { return "has other bytes than its name says" }
        return nil
      }
    } catch  where error.isOutOfDescriptors {
      throw StoreError(error)
    } catch  where error.code == .ioError {
      return "can't be read from the disk"
    } catch {
      return "can't be read: \(error.reason)"
    }
  }

  /// Whether a blob still counts as good.
  func isGood(_ sha256: SHA256) throws(StoreError) -> Bool {
    try row(of: sha256).map { !$0.isQuarantined } ?? false
  }

  /// Every file under `blobs/`, whether or not a row names it.
  func files() throws(StoreError) -> [SHA256] {
    try StoreError.disk { () throws(SystemError) in
      var found: [SHA256] = []
      for prefix in try Folder.textNames(folder.blobs) {
        for name in try Folder.textNames("\(folder.blobs)/\(prefix)") {
          if let sha256 = SHA256(hex: prefix + name) { found.append(sha256) }
        }
      }
      return found
    }
  }
}
