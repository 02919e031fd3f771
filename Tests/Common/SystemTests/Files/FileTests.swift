import Glibc
import System
import Testing
import TestSupport

/// A folder of its own for one test, removed after it.
func withTemporaryFolder<R>(_ body: (String) throws -> R) throws -> R {
  let scratch = try Scratch()
  return try withExtendedLifetime(scratch) { try body(scratch.path) }
}

@Suite struct FileTests {
  @Test func filesAreReplaced() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/a"
      #expect(try DurableFile.read(path) == nil)
      try DurableFile.write([1, 2, 3], to: path, mode: 0o600)
      try DurableFile.write([4], to: path, mode: 0o600)
      #expect(try DurableFile.read(path) == [4])
      #expect(try Kernel.status(path)?.mode == 0o600)
      #expect(try Folder.textNames(folder) == ["a"])
    }
  }

  @Test func readsAreLimited() throws {
    try withTemporaryFolder { folder in
      try DurableFile.write([1, 2, 3], to: "\(folder)/a")
      #expect(throws: SystemError.self) { try DurableFile.read("\(folder)/a", limit: 2) }
    }
  }

  @Test func errorsNameCallAndPath() throws {
    let error = #expect(throws: SystemError.self) { _ = try Kernel.open("/nowhere/at/all", .read).raw }
    #expect(error?.description == "/nowhere/at/all: No such file or directory (open)")
  }

  @Test func foldersAreMadeWithTheirParents() throws {
    try withTemporaryFolder { folder in
      defer { for name in ["a/b/c", "a/b", "a"] { try? Kernel.removeFolder("\(folder)/\(name)") } }
      for _ in 1...2 { try Kernel.makeFolder("\(folder)/a//b/c/") }
      #expect(try Kernel.status("\(folder)/a/b/c")?.kind == .folder)
    }
  }

  /// mkdir(2) below /proc fails with ENOENT although the parent exists: the call must not retry for ever.
  @Test(arguments: [
    (
      "/proc/nowhere",
      "the folder /proc/nowhere can't be created there (mkdir: No such file or directory); choose another one"
    ),
    (
      "/proc/nowhere/at/all",
      "the folder /proc/nowhere can't be created there (mkdir: No such file or directory); choose another one"
    ),
    ("", "the folder name is empty"),
    (
      "/dev/null", "/dev/null is a file or a dangling link, not a folder; remove it, or choose another folder"
    ),
    (
      "/dev/null/x",
      "the folder /dev/null/x can't be created, because a file is in the way; choose another folder"
    ),
  ])
  func foldersThatCannotBeMadeAreErrors(path: String, message: String) async {
    await #expect(processExitsWith: .success) { [path = path as String, message = message as String] in
      do throws(SystemError) {
        try Kernel.makeFolder(path)
        exit(3)
      } catch {
        exit(error.description == message ? 0 : 4)
      }
    }
  }

  @Test func folderNamesAreBytes() throws {
    try withTemporaryFolder { folder in
      for name in ["b", "a", "é"] { try DurableFile.write([], to: "\(folder)/\(name)") }
      #expect(try Folder.names(folder) == [Array("a".utf8), Array("b".utf8), Array("é".utf8)])
    }
  }

  @Test func locksAreExclusive() throws {
    try withTemporaryFolder { folder in
      let first = try FileLock.take("\(folder)/lock")
      let second = try FileLock.take("\(folder)/lock")
      let taken = (first: first != nil, second: second != nil)
      #expect(taken == (true, false))
      #expect(FileLock.holder("\(folder)/lock") == getpid())
    }
  }

  /// A holder may remove the lock's file; a process that had opened it before, and locks it afterwards, has no lock.
  @Test func removedLockFilesGiveNoLock() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/lock"
      let counts = Locked((holders: 0, peak: 0))
      let threads = try (0..<3).map { _ in
        try OSThread(name: "locks") {
          for _ in 0..<3000 {
            guard let lock = try? FileLock.take(path) else { continue }
            counts.withLock { $0 = ($0.holders + 1, max($0.peak, $0.holders + 1)) }
            counts.withLock { $0.holders -= 1 }
            try? Kernel.remove(path)
            _ = consume lock
          }
        }
      }
      for thread in threads { thread.join() }
      #expect(counts.withLock { $0.peak } == 1)
      let lock = try FileLock.take(path)
      let isHeld = try lock?.isHeld(at: path)
      try Kernel.remove(path)
      let isGone = try lock?.isHeld(at: path)
      #expect(isHeld == true && isGone == false)
    }
  }

  /// The file of a folder's lock can't be made again because a folder is in its place: the folder stays locked.
  @Test func foldersStayLockedWithoutTheirFile() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/lock"
      let lock = try #require(try FolderLock.take(folder, file: path))
      try Kernel.remove(path)
      try Kernel.makeFolder(path)
      #expect(try lock.isHeld())
      #expect(try FolderLock.take(folder, file: "\(folder)/other") == nil)
      // Made again once it can be.
      try Kernel.removeFolder(path)
      #expect(try lock.isHeld() && Kernel.status(path)?.kind == .file)
    }
  }

  /// Opening a FIFO for writing would otherwise block until it has a reader.
  @Test func openingAFIFOForAppendingDoesNotBlock() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/log"
      #expect(mkfifo(path, 0o600) == 0)
      let file = try Kernel.openForAppending(path)
      try Kernel.write(Array("a line\n".utf8).span.bytes, to: file)
      // A later reader gets what was written. Writes block again, as they should for a log.
      #expect(fcntl(file.raw, F_GETFL) & O_NONBLOCK == 0)
      let reader = try Kernel.open(path, [.read, .nonBlocking])
      var bytes = [UInt8](repeating: 0, count: 16)
      let count = try bytes.withUnsafeMutableBytes { try Kernel.read(reader, into: $0) }
      #expect(bytes.prefix(count) == Array("a line\n".utf8)[...])
    }
    try withTemporaryFolder { folder in
      for line in ["one\n", "two\n"] {
        let file = try Kernel.openForAppending("\(folder)/log")
        try Kernel.write(Array(line.utf8).span.bytes, to: file)
      }
      #expect(try DurableFile.read("\(folder)/log") == Array("one\ntwo\n".utf8))
    }
  }

  @Test func copiesAreComplete() throws {
    try withTemporaryFolder { folder in
      let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      try DurableFile.write(bytes, to: "\(folder)/a")
      let target = try Kernel.open("\(folder)/b", [.write, .create])
      try Kernel.copy(from: Kernel.open("\(folder)/a", .read), to: target)
      #expect(try DurableFile.read("\(folder)/b") == bytes)
    }
  }
}
