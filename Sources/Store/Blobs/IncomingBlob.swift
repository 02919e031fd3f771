import Glibc
import Platform

/// A file that is arriving: its bytes go to the disk and through both hashes as they come.
///
/// Letting go of it before `finish` drops what arrived.
package struct IncomingBlob: ~Copyable, @unchecked Sendable {  // its hasher has one owner, as all of it
  private let store: BlobStore
  private let claim: BlobClaim
  private let file: Descriptor
  private var hasher = FileHasher()
  private let path: String
  private var received: Int64 = 0

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
    let path = "\(store.folder.temporary)/incoming-\(getpid())-\(number)"
    self.path = path
    file = try StoreError.disk { () throws(SystemError) in
      try store.disk.create(path, flags: O_WRONLY | O_CREAT | O_EXCL)
    }
  }

  // Once it was renamed, nothing has this name any more.
  deinit { try? Kernel.remove(path) }

  /// Takes the next bytes.
  /// - Throws: `diskFull`, or `digestMismatch` as soon as more arrived than was announced.
  package mutating func append(_ bytes: RawSpan) throws(StoreError) {
    received += Int64(bytes.byteCount)
    hasher.update(bytes)
    if let size = claim.size, received > size {
      throw .digestMismatch(announced: claim, received: hasher.finish())
    }
    do {
      try store.disk.write(bytes, to: file, path: path)
    } catch {
      throw StoreError(error)
    }
  }

  /// Ends the file: from now on it counts as present.
  /// - Throws: `digestMismatch` when its bytes are not those announced; nothing of it is kept.
  package consuming func finish() throws(StoreError) -> Result {
    let digest = hasher.finish()
    guard claim.agrees(with: digest) else {
      throw .digestMismatch(announced: claim, received: digest)
    }
    return try store.accept(digest, from: path)
  }
}
