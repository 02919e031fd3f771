import Synchronization
import System

/// The check of a large blob at its first use since the start: one for all who send it, done block by block, so that what has
/// been checked can be sent meanwhile.
package final class BlobCheck: Sendable {
  /// The blob.
  package let sha256: SHA256
  /// The size of its file in bytes.
  package let size: Int64
  private let file: Descriptor
  private let tree: BlockTree?
  private let blobs: BlobStore
  private let whole = WholeHash()
  private let state: Locked<State>
  private let isGood = Atomic<Bool>(false)

  private struct State {
    var progress: CheckProgress
    var outcome: Outcome?
    /// Called once more is known.
    var waiters: [@Sendable () -> Void] = []
  }

  private enum Outcome: Sendable {
    case good
    case failed(StoreError)
  }

  private final class WholeHash: @unchecked Sendable {  // only who took the step `whole` uses it
    var hasher = SHA256Hasher()
    var blocks = BlockHasher()
    /// The digests of the blocks so far, where each is hashed by itself to be compared.
    var digests: [UInt8] = []
  }

  init(_ sha256: SHA256, _ file: consuming Descriptor, size: Int64, _ tree: BlockTree?, in blobs: BlobStore) {
    self.sha256 = sha256
    self.size = size
    self.file = file
    self.tree = tree
    self.blobs = blobs
    state = Locked(State(progress: CheckProgress(count: BlockTree.count(size), hasTree: tree != nil)))
  }

  /// The open file's descriptor, which lives as long as the check.
  package var descriptor: Int32 { file.raw }
  /// Whether the whole blob was found good.
  package var isDone: Bool { isGood.load(ordering: .acquiring) }
  /// Whether nothing is left to do.
  package var isOver: Bool { state.withLock { $0.outcome != nil } }
  /// Whether there is a step for another thread.
  package var hasWork: Bool { state.withLock { $0.outcome == nil && $0.progress.hasWork } }
  /// Whether somebody waits for a block.
  package var hasRequests: Bool { state.withLock { $0.outcome == nil && $0.progress.hasRequests } }
  /// Why the blob can't be sent; nil if nothing is known against it.
  package var failure: StoreError? {
    state.withLock { if case .failed(let error) = $0.outcome { error } else { nil } }
  }

  /// How many bytes from `offset` on, up to `count`, were checked; nil if they never will be. If none were, they are checked
  /// soon, and `changed` is called, on any thread, when that may be so.
  package func checked(at offset: UInt64, upTo count: Int, changed: @escaping @Sendable () -> Void) -> Int? {
    state.withLock { state in
      switch state.outcome {
      case .good: return count
      case .failed: return nil
      case nil: break
      }
      let block = UInt64(BlockTree.blockSize)
      let (first, last) = (Int(offset / block), Int((offset + UInt64(max(count, 1)) - 1) / block))
      let good = state.progress.good(from: first, through: last)
      if good > 0 { return min(count, Int(UInt64(first + good) * block - offset)) }
      state.progress.request(first)
      state.waiters.append(changed)
      return 0
    }
  }

  /// Checks one block, on a thread that may block for some milliseconds; returns at once if there is nothing to do.
  package func step() {
    guard let step = state.withLock({ $0.outcome == nil ? $0.progress.nextStep() : nil }) else { return }
    do throws(SystemError) {
      switch step {
      case .block(let block): end(step, matches: try compare(block))
      case .whole(let block):
        let isLast = block + 1 == BlockTree.count(size)
        end(step, matches: try add(block))
        if isLast { finish() }
      }
    } catch  where error.isDamage {
      // The bytes can't be had: the blob is bad, which is for `openChecked` to find and to note.
      fail()
    } catch {
      end(.failed(StoreError(error)))
    }
  }

  private func compare(_ block: Int) throws(SystemError) -> Bool {
    var hasher = SHA256Hasher()
    try read(block) { hasher.update($0) }
    return tree?.agrees(block, with: hasher.finish()) ?? false
  }

  private func add(_ block: Int) throws(SystemError) -> Bool? {
    var hasher = SHA256Hasher()
    try read(block) { bytes in
      whole.hasher.update(bytes)
      if tree == nil { whole.blocks.update(bytes) } else { hasher.update(bytes) }
    }
    guard let tree else { return nil }
    let digest = hasher.finish()
    // Should the tree be wrong, this is the next one.
    whole.digests += digest.bytes
    return tree.agrees(block, with: digest)
  }

  /// Reads a block; a file that has become shorter has fewer bytes, and so another digest.
  private func read(_ block: Int, _ body: (RawSpan) -> Void) throws(SystemError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var offset = Int64(block) * Int64(BlockTree.blockSize)
    let end = min(size, offset + Int64(BlockTree.blockSize))
    while offset < end {
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(end - offset)))
      let count = try Kernel.read(file, at: offset, into: part)
      if count == 0 { return }
      body(UnsafeRawBufferPointer(rebasing: part[..<count]).bytes)
      offset += Int64(count)
    }
  }

  private func finish() {
    guard whole.hasher.finish() == sha256 else { return fail() }
    let digests = tree == nil ? whole.blocks.finish() : whole.digests
    if digests != tree?.digests, let made = BlockTree(of: sha256, size: size, digests: digests) {
      // Stored to save time after the next start; failing to do so doesn't matter here.
      try? blobs.derived.keep(made)
    }
    blobs.noteChecked(self)
    isGood.store(true, ordering: .releasing)
    end(.good)
  }

  /// Has the blob set aside.
  private func fail() {
    do throws(StoreError) {
      _ = try blobs.openChecked(sha256)
      // The right bytes came meanwhile, in another file.
      end(.failed(.corruptBlob(sha256)))
    } catch {
      end(.failed(error))
    }
  }

  private func end(_ step: CheckProgress.Step, matches: Bool?) {
    // Without a tree, nothing more may be sent before the last step.
    guard matches != nil else { return state.withLock { $0.progress.end(step, matches: nil) } }
    wake { $0.progress.end(step, matches: matches) }
  }

  private func end(_ outcome: Outcome) {
    blobs.forgetCheck(self)
    wake { $0.outcome = outcome }
    // Whoever has it open opens it again, with another check: a disk that failed once may not fail always.
    if case .failed = outcome { blobs.changes.changed() }
  }

  private func wake(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }
}

/// A blob that may be sent: checked since the start, or being checked while it is sent.
package enum SendableBlob: ~Copyable, Sendable {
  case checked(StoredBlob)
  /// With whether the check has just begun, so that somebody has to carry it out.
  case checking(BlobCheck, isNew: Bool)
}

extension BlobStore {
  /// Opens a blob for sending. A small one is hashed now if it wasn't since the start; the check of a large one is shared by all
  /// who send it.
  /// - Throws: as `open(_:)`.
  func openForSending(_ sha256: SHA256) throws(StoreError) -> SendableBlob {
    guard state.withLock({ $0.verified[sha256] }) == nil else { return .checked(try open(sha256)) }
    if let check = checks.withLock({ $0[sha256] }) { return .checking(check, isNew: false) }
    let found = try StoreError.disk { () throws(SystemError) in try Kernel.openFile(folder.blob(sha256)) }
    guard case .file(let file, let status) = consume found, status.size >= BlockTree.leastSize else {
      return .checked(try open(sha256))
    }
    let tree = try? derived.tree(of: sha256, size: status.size)
    let made = BlobCheck(sha256, file, size: status.size, tree, in: self)
    let check: BlobCheck? = checks.withLock { checks in
      if let other = checks[sha256] { return other }
      // Another one ended just now.
      if state.withLock({ $0.verified[sha256] }) != nil { return nil }
      checks[sha256] = made
      return made
    }
    guard let check else { return .checked(try open(sha256)) }
    return .checking(check, isNew: check === made)
  }

  /// Notes that a blob's file was found good, if it is still the one that has the name.
  fileprivate func noteChecked(_ check: BlobCheck) {
    checks.withLock { checks in
      guard checks[check.sha256] === check else { return }
      state.withLock { $0.verified[check.sha256] = check.size }
    }
  }

  fileprivate func forgetCheck(_ check: BlobCheck) {
    checks.withLock { checks in
      if checks[check.sha256] === check { checks[check.sha256] = nil }
    }
  }
}

extension Store {
  /// Opens a blob for sending; see `SendableBlob`.
  /// - Throws: as `open(_:)`.
  package func openForSending(_ sha256: SHA256) throws(StoreError) -> SendableBlob {
    try blobs.openForSending(sha256)
  }
}
