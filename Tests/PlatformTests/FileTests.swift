import Glibc
import Platform
import Testing

/// A folder of its own for one test, removed after it.
func withTemporaryFolder<R>(_ body: (String) throws -> R) throws -> R {
  let path =
    "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/xcache-platform-\(getpid())-\(Clock.monotonicNanoseconds())"
  try Kernel.makeFolder(path)
  defer {
    for name in (try? Folder.textNames(path)) ?? [] { try? Kernel.remove("\(path)/\(name)") }
    try? Kernel.removeFolder(path)
  }
  return try body(path)
}

@Suite struct FileTests {
  @Test func durableFileIsReplacedWhole() throws {
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

  @Test func readRefusesMoreThanItsLimit() throws {
    try withTemporaryFolder { folder in
      try DurableFile.write([1, 2, 3], to: "\(folder)/a")
      #expect(throws: SystemError.self) { try DurableFile.read("\(folder)/a", limit: 2) }
    }
  }

  @Test func errorNamesCallAndPath() throws {
    let error = #expect(throws: SystemError.self) { _ = try Kernel.open("/nowhere/at/all", O_RDONLY).raw }
    #expect(error?.description == "/nowhere/at/all: No such file or directory (open)")
  }

  @Test func folderNamesAreBytes() throws {
    try withTemporaryFolder { folder in
      for name in ["b", "a", "é"] { try DurableFile.write([], to: "\(folder)/\(name)") }
      #expect(try Folder.names(folder) == [Array("a".utf8), Array("b".utf8), Array("é".utf8)])
    }
  }

  @Test func lockKeepsASecondHolderOut() throws {
    try withTemporaryFolder { folder in
      let first = try FileLock.take("\(folder)/lock")
      let second = try FileLock.take("\(folder)/lock")
      let taken = (first: first != nil, second: second != nil)
      #expect(taken == (true, false))
      #expect(FileLock.holder("\(folder)/lock") == getpid())
    }
  }

  @Test func copyKeepsEveryByte() throws {
    try withTemporaryFolder { folder in
      let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      try DurableFile.write(bytes, to: "\(folder)/a")
      let target = try Kernel.open("\(folder)/b", O_WRONLY | O_CREAT)
      try Kernel.copy(from: Kernel.open("\(folder)/a", O_RDONLY), to: target)
      #expect(try DurableFile.read("\(folder)/b") == bytes)
    }
  }
}
