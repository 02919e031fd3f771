import System

/// A small file in memory, and its sender's claim about it.
package struct SmallFile: Sendable {
  package let claim: BlobClaim
  package let bytes: ArraySlice<UInt8>

  package init(claim: BlobClaim, bytes: ArraySlice<UInt8>) {
    self.claim = claim
    self.bytes = bytes
  }
}

// Many small files that arrive together. Their bytes are checked before any file is created, so each is written under
// its final name: open, write, close. With 256 folders, concurrent senders seldom wait for one another, and a release
// has nothing to rename. A partial file left by a crash or a full disk does no harm: no row names it, files from before
// the start count only after they are hashed again, and a writer that finds the name taken renames a complete file over
// it.
extension BlobStore {
  /// Stores the files in order, up to the first whose bytes don't match its claim; those before it are kept.
  /// - Throws: `digestMismatch`; `diskFull` or `system`.
  func receive(_ files: [SmallFile]) throws(StoreError) {
    var whole: [WholeFile] = []
    whole.reserveCapacity(files.count)
    for file in files {
      let digest = FileDigest(of: file.bytes.span.bytes)
      guard file.claim.agrees(with: digest) else {
        try store(whole)
        throw .digestMismatch(announced: file.claim, received: digest)
      }
      whole.append(WholeFile(file: file, digest: digest))
    }
    try store(whole)
  }

  private struct WholeFile: Sendable {
    let file: SmallFile
    let digest: FileDigest
  }

  private func store(_ files: [WholeFile]) throws(StoreError) {
    if files.isEmpty { return }
    try takingSpace(for: files.reduce(0) { $0 + FileSpace.blockSize + $1.file.bytes.count }) {
      () throws(StoreError) in
      try write(checked: files)
    }
  }

  private func write(checked files: [WholeFile]) throws(StoreError) {
    let digests = files.map(\.digest.sha256)
    try refusePurged(digests)
    try reserve(digests)
    let rows = try connections.reading { (db) throws(StoreError) in
      try digests.map { (sha256) throws(StoreError) in try BlobRow.find(sha256, in: db)?.isQuarantined }
    }
    var new: [WholeFile] = []
    var others: [WholeFile] = []
    state.withLock { state in
      for (file, isQuarantined) in zip(files, rows) where isQuarantined != false {
        let sha256 = file.digest.sha256
        if state.arrived(sha256) != nil { continue }
        // A file from before the start, one that another sender is writing, or one that gc is about to remove is
        // replaced by renaming.
        if isQuarantined == nil, !state.unchecked.contains(sha256), !state.isLeaving(sha256),
          state.arriving.insert(sha256).inserted
        {
          new.append(file)
        } else {
          others.append(file)
        }
      }
    }
    if !new.isEmpty { markUnreleased() }
    let written = write(new)
    state.withLock { state in
      for file in new { state.arriving.remove(file.digest.sha256) }
      for file in written.made { state.named[file.digest.sha256] = file.digest }
    }
    writeback.made(written.made.count)
    if let failure = written.failure {
      // On a full disk, the partial file takes the last of the space, which a start may need. A file is never removed
      // if a release has persisted other bytes under its name meanwhile.
      if let half = written.half { _ = try? removeUnreleased(half, isReserved: true) }
      throw StoreError(failure)
    }
    for file in others + written.taken { try storeAlone(file) }
  }

  /// The outcome of creating files.
  private struct Written {
    var made: [WholeFile] = []
    /// Files whose name is taken by something unknown.
    var taken: [WholeFile] = []
    /// A file that was begun and couldn't be completed.
    var half: SHA256?
    var failure: SystemError?
  }

  /// Creates the files, as many as the disk takes.
  private func write(_ files: [WholeFile]) -> Written {
    var written = Written()
    written.made.reserveCapacity(files.count)
    for file in files {
      let path = folder.blob(file.digest.sha256)
      do throws(SystemError) {
        let descriptor = try disk.create(path, flags: [.write, .create, .exclusive])
        written.half = file.digest.sha256
        try disk.write(file.file.bytes.span.bytes, to: descriptor, path: path)
        written.made.append(file)
        written.half = nil
      } catch {
        if written.half == nil, error.code == .fileExists {
          written.taken.append(file)
        } else {
          written.failure = error
          return written
        }
      }
    }
    return written
  }

  /// Makes the next process look under `blobs/` for files that no release used. If the mark can't be written,
  /// those files are sent again.
  private func markUnreleased() {
    let now = clock()
    let isDue = state.withLock { state in
      if now - state.markedAt < Self.markInterval { return false }
      state.markedAt = now
      return true
    }
    if isDue { _ = try? Kernel.open(folder.unreleased, [.write, .create, .truncate], mode: 0o640) }
  }

  /// A mark's time may be older than that of the newest file by up to 1 h, in milliseconds.
  static let markInterval = gracePeriod / 24

  private func storeAlone(_ file: WholeFile) throws(StoreError) {
    var incoming = try IncomingBlob(file.file.claim, in: self)
    try incoming.append(file.file.bytes.span.bytes)
    _ = try incoming.finish()
  }
}
