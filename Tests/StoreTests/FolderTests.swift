import System
import Testing

@testable import Store

@Suite struct FolderTests {
  let scratch = Scratch()

  @Test func oneProcessAtATime() throws {
    let store = try scratch.open()
    #expect { _ = try scratch.open() } throws: { error in
      guard case StoreError.inUse(let path, let process) = error else { return false }
      return path == scratch.data && process != nil && "\(error)".contains("in use by process")
    }
    withExtendedLifetime(store) {}
  }

  @Test func theFolderIsFreeAgainAfterwards() throws {
    for round in 1...3 {
      let store = try scratch.open()
      #expect(store.madeAdminToken == (round == 1))
    }
  }

  @Test(
    "A database whose beginning is damaged is named, with what to do",
    arguments: [Array("SQLite format 9".utf8), [], [UInt8](repeating: 0, count: 4096)])
  func damagedHeader(_ start: [UInt8]) throws {
    _ = try scratch.open()
    for ending in ["-wal", "-shm"] { try Kernel.remove(scratch.data + "/xcache.db" + ending) }
    var bytes = try #require(try DurableFile.read(scratch.data + "/xcache.db"))
    bytes.replaceSubrange(0..<start.count, with: start)
    // Where the beginning is whole, a page behind it.
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

  @Test("Room is kept on the disk, given up once, and made again when there is twice as much")
  func reserve() throws {
    let room = Locked(DiskSpace(size: 1 << 30, available: 1 << 29))
    var options = Store.Options()
    options.disk = Disk(space: { _ in room.withLock { $0 } }, before: { _, _ in })
    let store = try Store(path: scratch.data, options: options)
    let path = scratch.data + "/reserve"
    #expect(store.reserve.bytes == 4 << 20)
    #expect(try Kernel.status(path)?.size == 4 << 20)
    // Without room for it, nothing is made.
    #expect(store.reserve.release() && !store.reserve.release())
    #expect(store.reserve.bytes == 0)
    room.withLock { $0 = DiskSpace(size: 1 << 30, available: 8 << 20 - 1) }
    #expect(!store.reserve.fill() && store.reserve.bytes == 0)
    room.withLock { $0 = DiskSpace(size: 32 << 20, available: 2 << 20) }
    #expect(store.reserve.fill() && store.reserve.bytes == 1 << 20)
    // An act that finds the disk full has one more try with it, and no third.
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
    // What isn't about room costs none.
    store.reserve.fill()
    #expect(throws: StoreError.self) {
      try store.reserve.lending { () throws(StoreError) in throw .unknownLease("x") }
    }
    #expect(store.reserve.bytes > 0)
  }

  @Test func aFolderThatIsNotThereIsNotMadeUnasked() throws {
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
