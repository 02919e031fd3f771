import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Large blobs at their first use after a start: only verified parts are sent.
@Suite struct BlobCheckTests {
  private static let block = UInt64(BlockTree.blockSize)
  /// Five blocks and a bit, each different.
  private static let bytes = (0..<(5 << 20) + 1000).map { UInt8(truncatingIfNeeded: $0 >> 16 &+ $0 &* 7) }
  private static let sha256 = SHA256.of(bytes)

  /// A folder with a published blob, reopened.
  private struct Restarted {
    let scratch = Scratch()
    let store: Store

    init(_ between: (Store, Scratch) throws -> Void = { _, _ in }) throws {
      do {
        let store = try scratch.open()
        let sample = Sample(large: BlobCheckTests.bytes)
        try store.publish(base: 0, set: ["a.bin": sample])
        try between(store, scratch)
      }
      store = try scratch.open()
    }

    var check: BlobCheck {
      get throws {
        switch try store.openForSending(BlobCheckTests.sha256) {
        case .checked: throw NotBeingChecked()
        case .checking(let check, _): return check
        }
      }
    }

    var path: String { store.folder.blob(BlobCheckTests.sha256) }
  }

  private struct NotBeingChecked: Error {}

  private static func flip(_ path: String, at offset: Int64) throws {
    var bytes = try #require(try DurableFile.read(path))
    bytes[Int(offset)] ^= 1
    try Kernel.write(bytes.span.bytes, to: Kernel.open(path, [.write]), path: path)
  }

  /// How many bytes may be sent from a block on, and how often the caller was notified.
  private static func ask(_ check: BlobCheck, _ block: UInt64, _ notified: Locked<Int> = Locked(0)) -> Int? {
    check.checked(at: block * Self.block + 10, upTo: 3 << 20) { notified.withLock { $0 += 1 } }
  }

  private static func finish(_ check: BlobCheck) {
    for _ in 0..<100 where !check.isOver { check.step() }
  }

  @Test func requestedBlockIsCheckedFirst() throws {
    let restarted = try Restarted()
    let check = try restarted.check
    let notified = Locked(0)
    #expect(Self.ask(check, 3, notified) == 0)
    check.step()
    #expect(notified.withLock { $0 } == 1)
    // Up to the end of that block only.
    #expect(Self.ask(check, 3) == Int(Self.block) - 10)
    #expect(Self.ask(check, 2) == 0 && Self.ask(check, 4) == 0)
    check.step()
    #expect(Self.ask(check, 2) == (2 << 20) - 10)
    Self.finish(check)
    #expect(check.isDone && Self.ask(check, 0) == 3 << 20)
    // From now on it is opened like any other blob.
    guard case .checked(let blob) = try restarted.store.openForSending(Self.sha256) else {
      Issue.record("it is checked twice")
      return
    }
    #expect(blob.size == Int64(Self.bytes.count))
  }

  @Test func concurrentSendersShareOneCheck() throws {
    let restarted = try Restarted()
    let new = Locked(0)
    let first = try restarted.check
    Parallel.forEach(20, threads: 4) { _ in
      guard case .checking(let check, let isNew) = try? restarted.store.openForSending(Self.sha256) else {
        return
      }
      if isNew { new.withLock { $0 += 1 } }
      #expect(check === first)
      Self.finish(check)
    }
    #expect(new.withLock { $0 } == 0 && first.isDone)
  }

  @Test func damagedBlockIsNeverSent() throws {
    let restarted = try Restarted()
    try Self.flip(restarted.path, at: 3 << 20)
    let check = try restarted.check
    let notified = Locked(0)
    #expect(Self.ask(check, 3, notified) == 0)
    check.step()
    #expect(Self.ask(check, 3, notified) == 0)
    // Other blocks may be sent until the whole is known to be damaged.
    #expect(Self.ask(check, 1) == 0)
    check.step()
    #expect(Self.ask(check, 1) == Int(Self.block) - 10)
    Self.finish(check)
    #expect(
      !check.isDone && Self.ask(check, 3) == nil && Self.ask(check, 1) == nil && notified.withLock { $0 } > 0)
    #expect { throw try #require(check.failure) } throws: {
      if case StoreError.corruptBlob(Self.sha256) = $0 { true } else { false }
    }
    #expect(try restarted.store.missing(of: [Self.sha256]) == [Self.sha256])
    #expect(throws: StoreError.self) { try restarted.check }
    // After another upload, it is intact at once.
    try restarted.store.send([Sample(large: Self.bytes)])
    #expect(try restarted.store.missing(of: [Self.sha256]).isEmpty)
  }

  /// Without a hash tree, nothing is sent until the whole has been verified, which also makes the tree.
  @Test(arguments: [
    "DELETE FROM block_tree", "UPDATE block_tree SET digests = zeroblob(length(digests))",
    "UPDATE block_tree SET size = size + 1", "UPDATE block_tree SET root = zeroblob(32)",
  ])
  func withoutATreeTheWholeIsChecked(damage: String) throws {
    let restarted = try Restarted { store, _ in
      try store.derived.work { (db) throws(StoreError) in try db.script(damage) }
    }
    let check = try restarted.check
    for _ in 0..<5 {
      #expect(Self.ask(check, 0) == 0)
      check.step()
    }
    #expect(Self.ask(check, 0) == 0)
    check.step()
    #expect(check.isDone && Self.ask(check, 0) == 3 << 20)
    #expect(try restarted.store.derived.tree(of: Self.sha256, size: Int64(Self.bytes.count)) != nil)
  }

  @Test func derivedDatabaseMayBeDeleted() throws {
    let restarted = try Restarted { _, scratch in
      for ending in ["", "-wal", "-shm"] { try? Kernel.remove("\(scratch.data)/derived.db\(ending)") }
    }
    let check = try restarted.check
    Self.finish(check)
    #expect(check.isDone)
    #expect(try restarted.store.derived.tree(of: Self.sha256, size: Int64(Self.bytes.count)) != nil)
  }

  /// A valid tree of other bytes: its blocks don't match, but the hash of the whole does.
  @Test func wrongTreeOnlyCostsTime() throws {
    let restarted = try Restarted { store, _ in
      let count = BlockTree.count(Int64(Self.bytes.count))
      let digests = [UInt8](repeating: 9, count: count * SHA256.byteCount)
      let tree = try #require(BlockTree(of: Self.sha256, size: Int64(Self.bytes.count), digests: digests))
      try store.derived.keep(tree)
    }
    let check = try restarted.check
    #expect(Self.ask(check, 2) == 0)
    check.step()
    #expect(Self.ask(check, 2) == 0)
    Self.finish(check)
    #expect(check.isDone && Self.ask(check, 2) == 3 << 20)
    let tree = try restarted.store.derived.tree(of: Self.sha256, size: Int64(Self.bytes.count))
    #expect(tree?.agrees(0, with: .of(Array(Self.bytes[..<(1 << 20)]))) == true)
  }

  @Test func truncatedFileIsDamaged() throws {
    let restarted = try Restarted()
    try Kernel.truncate(Kernel.open(restarted.path, [.write]), to: 5 << 20)
    let check = try restarted.check
    #expect(Self.ask(check, 1) == 0)
    Self.finish(check)
    #expect(check.failure != nil && Self.ask(check, 1) == nil)
  }

  /// Threads execute its steps in any order.
  @Test func threadsTakeStepsInAnyOrder() throws {
    for _ in 0..<10 {
      let restarted = try Restarted()
      let check = try restarted.check
      Parallel.forEach(4, threads: 4) { number in
        _ = Self.ask(check, UInt64(number))
        Self.finish(check)
        while !check.isOver { Clock.sleep(for: .milliseconds(1)) }
      }
      #expect(check.isDone)
    }
  }

  @Test func gcRemovesTreesOfRemovedBlobs() throws {
    let restarted = try Restarted()
    let store = restarted.store
    let known = try store.derived.known()
    try store.derived.forget(known, keeping: [Self.sha256.hex])
    #expect(try store.derived.tree(of: Self.sha256, size: Int64(Self.bytes.count)) != nil)
    try store.derived.forget(known, keeping: [])
    #expect(try store.derived.tree(of: Self.sha256, size: Int64(Self.bytes.count)) == nil)
  }
}
