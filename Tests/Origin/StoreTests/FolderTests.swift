import Glibc
import System
import Testing
import TestSupport

@testable import Store

@Suite struct FolderTests {
  let scratch = Scratch()

  @Test func secondProcessIsRefused() throws {
    let store = try scratch.open()
    #expect { _ = try scratch.open() } throws: { error in
      guard case StoreError.inUse(let path, let process) = error else { return false }
      return path == scratch.data && process != nil && "\(error)".contains("in use by process")
    }
    withExtendedLifetime(store) {}
  }

  @Test func folderIsFreeAfterwards() throws {
    for round in 1...3 {
      let store = try scratch.open()
      #expect(store.madeAdminToken == (round == 1))
    }
  }

  @Test(
    "A damaged database header is reported with the path and a remedy",
    arguments: [Array("SQLite format 9".utf8), [], [UInt8](repeating: 0, count: 4096)])
  func damagedHeader(_ start: [UInt8]) throws {
    _ = try scratch.open()
    for ending in ["-wal", "-shm"] { try Kernel.remove(scratch.data + "/xcache.db" + ending) }
    var bytes = try #require(try DurableFile.read(scratch.data + "/xcache.db"))
    bytes.replaceSubrange(0..<start.count, with: start)
    // With an intact header, the rest of the first page is damaged.
    if start.isEmpty { bytes.replaceSubrange(100..<4096, with: [UInt8](repeating: 0xff, count: 3996)) }
    try DurableFile.write(bytes, to: scratch.data + "/xcache.db")
    #expect {
      _ = try scratch.open()
    } throws: { error in
      let message = "\(error)"
      return message.contains("xcache.db") && message.contains("is damaged")
        && message.contains("xcache restore")
    }
  }

  @Test("A reserve is kept on the disk, released once, and made again when there is twice as much room")
  func reserve() throws {
    let room = Locked(DiskSpace(size: 1 << 30, available: 1 << 29))
    var options = Store.Options()
    options.disk = Disk(space: { _ in room.withLock { $0 } }, before: { _, _ in })
    let store = try Store(path: scratch.data, options: options)
    let path = scratch.data + "/reserve"
    #expect(store.reserve.bytes == 4 << 20)
    #expect(try Kernel.status(path)?.size == 4 << 20)
    // Without room, none is made.
    #expect(store.reserve.release() && !store.reserve.release())
    #expect(store.reserve.bytes == 0)
    room.withLock { $0 = DiskSpace(size: 1 << 30, available: 8 << 20 - 1) }
    #expect(!store.reserve.fill() && store.reserve.bytes == 0)
    room.withLock { $0 = DiskSpace(size: 32 << 20, available: 2 << 20) }
    #expect(store.reserve.fill() && store.reserve.bytes == 1 << 20)
    // An act that finds the disk full is retried once with the reserve.
    var tries = 0
    #expect(throws: StoreError.self) {
      try store.reserve.lending { () throws(StoreError) in
        tries += 1
        throw .diskFull("the database")
      }
    }
    #expect(tries == 2 && store.reserve.bytes == 0)
    #expect(throws: StoreError.self) {
      try store.reserve.lending { () throws(StoreError) in
        tries += 1
        throw .diskFull("the database")
      }
    }
    #expect(tries == 3)
    // Other errors don't release it.
    store.reserve.fill()
    #expect(throws: StoreError.self) {
      try store.reserve.lending { () throws(StoreError) in throw .unknownLease("x") }
    }
    #expect(store.reserve.bytes > 0)
  }

  @Test(
    "A sparse reserve, as in a copied folder, doesn't count, and is replaced at the start"
  )
  func sparseReserve() throws {
    let path = scratch.data + "/reserve"
    func makeSparse() throws {
      try Kernel.remove(path)
      let file = try Kernel.open(path, [.write, .create])
      #expect(ftruncate(file.raw, 4 << 20) == 0)
    }
    _ = try Store(path: scratch.data)
    try makeSparse()
    do {
      let store = try Store(path: scratch.data)
      #expect(store.reserve.bytes == 4 << 20 && store.reserve.fault == nil)
      try makeSparse()
      #expect(store.reserve.bytes == 0 && !store.reserve.release())
    }
    // Without room for its blocks, none is kept, and that is reported.
    var options = Store.Options()
    options.disk = Disk(space: { _ in DiskSpace(size: 1 << 30, available: 1 << 20) }, before: { _, _ in })
    let store = try Store(path: scratch.data, options: options)
    #expect(store.reserve.bytes == 0 && store.reserve.isDiskFull)
  }

  @Test(
    "A reserve that isn't a regular file is neither read nor written, and doesn't count",
    arguments: ["fifo", "folder", "link"])
  func noReserve(_ kind: String) throws {
    _ = try Store(path: scratch.data)
    let path = scratch.data + "/reserve"
    let other = scratch.data + "/other"
    try Kernel.remove(path)
    switch kind {
    case "fifo": #expect(mkfifo(path, 0o600) == 0)
    case "folder": #expect(mkdir(path, 0o700) == 0)
    default:
      try DurableFile.write([1, 2, 3], to: other)
      #expect(symlink(other, path) == 0)
    }
    let store = try Store(path: scratch.data)
    #expect(store.reserve.bytes == 0 && !store.reserve.fill() && !store.reserve.release())
    #expect(!store.reserve.isDiskFull && store.reserve.fault?.contains("remove it") == true)
    #expect(try store.checkup(deep: false).findings.map(\.code) == ["reserve"])
    #expect(try Kernel.status(path, followLinks: false) != nil)
    if kind == "link" { #expect(try DurableFile.read(other) == [1, 2, 3]) }
  }

  @Test("An act that failed while another one released the reserve is retried with what is left")
  func releaseForTwoActs() throws {
    let store = try Store(path: scratch.data)
    var (first, second) = (0, 0)
    try store.reserve.lending { () throws(StoreError) in
      first += 1
      guard first == 1 else { return }
      try store.reserve.lending { () throws(StoreError) in
        second += 1
        if second == 1 { throw .diskFull("the database") }
      }
      throw .diskFull("the database")
    }
    #expect(first == 2 && second == 2 && store.reserve.bytes == 0)
    // An act can't use a reserve that was released before it began.
    #expect(throws: StoreError.self) {
      try store.reserve.lending { () throws(StoreError) in
        first += 1
        throw .diskFull("the database")
      }
    }
    #expect(first == 3)
  }

  @Test("Concurrent acts on a full disk are retried once each", arguments: 0..<20)
  func releaseForConcurrentActs(round: Int) throws {
    let store = try Store(path: scratch.data)
    let counts = Locked((failed: 0, done: 0))
    let threads = try (0..<4).map { _ in
      try OSThread(name: "act") {
        var isFirst = true
        try? store.reserve.lending { () throws(StoreError) in
          guard isFirst else { return counts.withLock { $0.done += 1 } }
          isFirst = false
          counts.withLock { $0.failed += 1 }
          // All have failed before one of them releases the reserve.
          while counts.withLock({ $0.failed }) < 4 { sched_yield() }
          throw .diskFull("the database")
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(counts.withLock { $0.done } == 4)
  }

  @Test func missingFolderIsNotCreatedByDefault() throws {
    var options = Store.Options()
    options.creates = false
    #expect { _ = try scratch.open(options) } throws: {
      if case StoreError.noDataFolder = $0 { true } else { false }
    }
    #expect(try Kernel.status(scratch.data) == nil)
    _ = try scratch.open()
    #expect(throws: Never.self) { _ = try scratch.open(options) }
  }
}

/// A renamed or removed lock file lets no other process in.
@Suite struct LockFileTests {
  let scratch = Scratch()

  private func isInUse(_ error: any Error) -> Bool {
    if case StoreError.inUse = error { true } else { false }
  }

  @Test(arguments: [true, false]) func renamedOrRemovedLockFileStillLocks(isRenamed: Bool) throws {
    let store = try scratch.open()
    let path = scratch.data + "/lock"
    if isRenamed {
      try Kernel.rename(path, to: path + ".old")
    } else {
      try Kernel.remove(path)
    }
    #expect { _ = try scratch.open() } throws: { isInUse($0) }
    // The next act creates it again, for programs that check only that file.
    try store.publish(base: 0, set: ["a.js": Sample("one")])
    #expect(try FileLock.take(path) == nil)
    #expect(FileLock.holder(path) == getpid())
    #expect { _ = try scratch.open() } throws: { isInUse($0) }
    withExtendedLifetime(store) {}
  }

  /// If the lock file was renamed and another process took a new one, nothing is written any more.
  @Test func nothingIsWrittenAfterTheLockWasLost() throws {
    let store = try scratch.open()
    try Kernel.remove(scratch.data + "/lock")
    let other = try FileLock.take(scratch.data + "/lock")
    #expect { try store.publish(base: 0, set: ["a.js": Sample("one")]) } throws: { error in
      guard case StoreError.lostFolder(let path) = error else { return false }
      return path == scratch.data && "\(error)".contains("restart")
    }
    #expect(throws: StoreError.self) { try store.checkFolder() }
    _ = consume other
    #expect(throws: Never.self) { try store.checkFolder() }
  }

  @Test func nothingIsWrittenAfterTheFolderWasReplaced() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("one")])
    try Kernel.rename(scratch.data, to: scratch.path + "/moved")
    #expect(throws: StoreError.self) {
      try store.publish(base: 1, set: ["a.js": Sample("two")], sends: false)
    }
    let second = try scratch.open()
    #expect(try second.channels().isEmpty)
    #expect(throws: StoreError.self) { try store.checkFolder() }
    try Kernel.rename(scratch.data, to: scratch.path + "/second")
    try Kernel.rename(scratch.path + "/moved", to: scratch.data)
    #expect(try store.publish(base: 1, set: ["a.js": Sample("two")]).version.number == 2)
  }
}
