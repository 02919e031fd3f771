import System

/// A small file in memory, and what its sender says of it.
package struct SmallFile: Sendable {
  package let claim: BlobClaim
  package let bytes: ArraySlice<UInt8>

  package init(claim: BlobClaim, bytes: ArraySlice<UInt8>) {
    self.claim = claim
    self.bytes = bytes
  }
}

// Many small files that arrive together. Their bytes are checked before any file is made, so each is written under
// the name that it keeps until its release: open, write, close. Half a file that a crash leaves there counts for
// nothing, since files from before the start count once they were hashed again.
extension BlobStore {
  /// Stores the files in turn, up to the first that isn't what its sender says; those before it are kept.
  /// - Throws: `digestMismatch`; `diskFull` or `system`.
  func receive(_ files: [SmallFile]) throws(StoreError) {
    var whole: [WholeFile] = []
    whole.reserveCapacity(files.count)
    for file in files {
      var hasher = FileHasher()
      hasher.update(file.bytes.span.bytes)
      let digest = hasher.finish()
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
    let digests = files.map(\.digest.sha256)
    try promise(digests)
    let rows = try connections.reading { (db) throws(StoreError) in
      try digests.map { (sha256) throws(StoreError) in try BlobRow.find(sha256, in: db)?.isQuarantined }
    }
    var new: [WholeFile] = []
    var others: [WholeFile] = []
    state.withLock { state in
      for (file, isQuarantined) in zip(files, rows) where isQuarantined != false {
        let sha256 = file.digest.sha256
        if state.placed[sha256] != nil || state.whole[sha256] != nil { continue }
        // One that is there from before the start, or that another sender is writing, is replaced by renaming.
        if isQuarantined == nil, !state.unchecked.contains(sha256), state.arriving.insert(sha256).inserted {
          new.append(file)
        } else {
          others.append(file)
        }
      }
    }
    let written = write(new)
    state.withLock { state in
      for file in new { state.arriving.remove(file.digest.sha256) }
      for file in written.made { state.whole[file.digest.sha256] = file.digest }
    }
    if let failure = written.failure { throw StoreError(failure) }
    for file in others + written.taken { try storeAlone(file) }
  }

  /// Makes the files, as many as the disk takes.
  /// - Returns: also those whose name something has that isn't known.
  private func write(_ files: [WholeFile]) -> (made: [WholeFile], taken: [WholeFile], failure: SystemError?) {
    // One sender at a time: in one folder the kernel makes one file at a time, and whoever waits for that spins.
    turns.withLock { _ in
      var made: [WholeFile] = []
      var taken: [WholeFile] = []
      made.reserveCapacity(files.count)
      for file in files {
        let path = folder.whole(file.digest.sha256)
        do throws(SystemError) {
          let descriptor = try disk.create(path, flags: [.write, .create, .exclusive])
          do throws(SystemError) {
            try disk.write(file.file.bytes.span.bytes, to: descriptor, path: path)
          } catch {
            removeHalf(file.digest.sha256)
            throw error
          }
          made.append(file)
        } catch {
          guard error.code == .fileExists else { return (made, taken, error) }
          taken.append(file)
        }
      }
      return (made, taken, nil)
    }
  }

  /// Removes what was written in part, unless another sender's file has its name by now.
  private func removeHalf(_ sha256: SHA256) {
    names.withLock { _ in
      guard state.withLock({ $0.whole[sha256] == nil }) else { return }
      try? Kernel.remove(folder.whole(sha256))
    }
  }

  private func storeAlone(_ file: WholeFile) throws(StoreError) {
    var incoming = try IncomingBlob(file.file.claim, in: self)
    try incoming.append(file.file.bytes.span.bytes)
    _ = try incoming.finish()
  }
}
