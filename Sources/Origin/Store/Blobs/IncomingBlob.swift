import System

/// A sender's claim about a file, made before its bytes arrive.
package struct BlobClaim: Hashable, Sendable {
  /// The digest under which the bytes are stored.
  package let sha256: SHA256
  /// The digest that manifests contain.
  package let md5: MD5
  /// The number of bytes; nil if the sender doesn't know yet.
  package let size: Int64?

  /// Creates a claim.
  package init(sha256: SHA256, md5: MD5, size: Int64? = nil) {
    self.sha256 = sha256
    self.md5 = md5
    self.size = size
  }

  func agrees(with received: FileDigest) -> Bool {
    sha256 == received.sha256 && md5 == received.md5 && (size ?? received.size) == received.size
  }
}

/// A file that is being received: its bytes are written to the disk and hashed as they come.
///
/// Releasing it before `finish` discards what arrived.
package struct IncomingBlob: ~Copyable, @unchecked Sendable {  // its hasher has one owner, as all of it
  private let store: BlobStore
  private let claim: BlobClaim
  private let file: Descriptor
  private var hasher = FileHasher()
  /// The digests of its blocks, where it may be large.
  private var blocks: BlockHasher?
  private let path: String
  private var received: Int64 = 0
  private var hasMoved = false

  /// Whether the bytes are new.
  package enum Result: Hashable, Sendable {
    case stored, alreadyThere
  }

  init(_ claim: BlobClaim, in store: BlobStore) throws(StoreError) {
    self.store = store
    self.claim = claim
    let number = store.state.withLock { state in
      state.nextIncoming += 1
      return state.nextIncoming
    }
    let path = "\(store.folder.temporary)/incoming-\(Environment.processID)-\(number)"
    self.path = path
    blocks = (claim.size ?? .max) >= BlockTree.leastSize ? BlockHasher() : nil
    file = try StoreError.disk { () throws(SystemError) in
      try store.disk.create(path, flags: [.write, .create, .exclusive])
    }
  }

  deinit { if !hasMoved { try? Kernel.remove(path) } }

  /// Receives the next bytes.
  /// - Throws: `diskFull`, or `digestMismatch` as soon as more arrives than was announced.
  package mutating func append(_ bytes: RawSpan) throws(StoreError) {
    // The smallest file takes a block.
    let room = bytes.byteCount + (received == 0 ? FileSpace.blockSize : 0)
    received += Int64(bytes.byteCount)
    hasher.update(bytes)
    blocks?.update(bytes)
    if let size = claim.size, received > size {
      throw .digestMismatch(announced: claim, received: hasher.finish())
    }
    try store.takingSpace(for: room) { () throws(StoreError) in
      try StoreError.disk { () throws(SystemError) in try store.disk.write(bytes, to: file, path: path) }
    }
    store.activity.withLock { $0.note(store.clock()) }
  }

  /// Completes the file: from now on it counts as stored.
  /// - Throws: `digestMismatch` if its bytes aren't the announced ones; nothing of it is kept.
  package consuming func finish() throws(StoreError) -> Result {
    let digest = hasher.finish()
    guard claim.agrees(with: digest) else {
      throw .digestMismatch(announced: claim, received: digest)
    }
    if digest.size >= BlockTree.leastSize, let digests = blocks?.finish(),
      let tree = BlockTree(of: digest.sha256, size: digest.size, digests: digests)
    {
      // Made again by the first check of the whole if it isn't there.
      try? store.derived.keep(tree)
    }
    let result = try store.accept(digest, from: path)
    hasMoved = result == .stored
    return result
  }
}

extension BlobStore {
  /// Takes over a checked file. It waits for its release; if its blob is quarantined, it replaces the bad file.
  func accept(_ digest: FileDigest, from path: String) throws(StoreError) -> IncomingBlob.Result {
    let sha256 = digest.sha256
    try refusePurged([sha256])
    try reserve([sha256])
    let row = try row(of: sha256)
    if let row, !row.isQuarantined { return .alreadyThere }
    if state.withLock({ $0.arrived(sha256) != nil }) { return .alreadyThere }
    try StoreError.disk { () throws(SystemError) in
      try move(path, to: folder.whole(sha256), as: "tmp-\(sha256.hex)")
    }
    state.withLock { state in
      state.forgetWhole(sha256)
      state.whole[sha256] = digest
    }
    if row != nil { try repair(sha256) }
    return .stored
  }

  /// Puts a new file in the place of a quarantined one.
  private func repair(_ sha256: SHA256) throws(StoreError) {
    try persist([sha256])
    try connections.writing { (db) throws(StoreError) in
      try BlobRow.markWhole(sha256, at: clock(), in: db)
    }
    checks.withLock { $0[sha256] = nil }
    state.withLock { state in
      state.persisted[sha256] = nil
      state.verified[sha256] = nil
    }
    changes.changed()
  }

  /// Those of `digests` whose bytes must be sent before a release can name them, in order.
  func missing(of digests: [SHA256]) throws(StoreError) -> [SHA256] {
    try refusePurged(digests)
    let stamp = try reserve(digests)
    let arrived = arrived(digests)
    let rest = digests.filter { arrived[$0] == nil }
    let stored = try stored(rest)
    var missing: [SHA256] = []
    for sha256 in rest where stored[sha256] == nil {
      if try waiting(sha256) == nil { missing.append(sha256) }
    }
    withdraw(missing, stamp)
    return missing
  }

  /// The digest of a file that arrived and has no row yet; nil if there is none.
  func waiting(_ sha256: SHA256) throws(StoreError) -> FileDigest? {
    let (known, isUnchecked, mayHaveName) = state.withLock { state in
      (state.arrived(sha256), state.unchecked.contains(sha256), state.hasUncheckedNames)
    }
    if let known { return known }
    if isUnchecked, let digest = try recheck(sha256) { return digest }
    return mayHaveName ? try recheckNamed(sha256) : nil
  }

  /// Hashes a file that an earlier process created under `blobs/` before its release. A bad one stays until gc removes
  /// it or the right one replaces it.
  private func recheckNamed(_ sha256: SHA256) throws(StoreError) -> FileDigest? {
    // A file with a row is checked elsewhere.
    guard try row(of: sha256) == nil else { return nil }
    // gc leaves arriving files alone.
    let isFree = state.withLock { state in
      !state.isLeaving(sha256) && state.arriving.insert(sha256).inserted
    }
    guard isFree else { return nil }
    defer { state.withLock { _ = $0.arriving.remove(sha256) } }
    let digest = try StoreError.disk { () throws(SystemError) -> FileDigest? in
      do throws(SystemError) {
        guard case .file(let file, _) = try Kernel.openFile(folder.blob(sha256)) else { return nil }
        let digest = try DiskDigest.all(of: file)
        return digest.sha256 == sha256 ? digest : nil
      } catch  where error.isDamage {
        // A file that can't be read counts as missing; it is sent again and replaced.
        return nil
      }
    }
    state.withLock { $0.named[sha256] = digest }
    return digest
  }

  /// Hashes a received file from before the start; a bad one is removed.
  private func recheck(_ sha256: SHA256) throws(StoreError) -> FileDigest? {
    let path = folder.whole(sha256)
    let digest = try StoreError.disk { () throws(SystemError) -> FileDigest? in
      switch try Kernel.openFile(path) {
      case .missing: return nil
      case .other: break
      case .file(let file, _):
        let digest = try DiskDigest.all(of: file)
        if digest.sha256 == sha256 { return digest }
      }
      try folder.remove(path, as: "tmp-\(sha256.hex)", now: clock())
      return nil
    }
    state.withLock { state in
      state.forgetWhole(sha256)
      state.whole[sha256] = digest
    }
    return digest
  }
}
