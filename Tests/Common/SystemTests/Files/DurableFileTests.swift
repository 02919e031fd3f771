import Glibc
import System
import Testing

/// Atomic writes, and reading paths that aren't regular files.
@Suite struct DurableFileTests {
  /// A rename onto a folder is the last step, and fails: the temporary file is removed.
  @Test func failedWritesLeaveNoTemporaryFile() throws {
    try withTemporaryFolder { folder in
      try Kernel.makeFolder(folder + "/target")
      let error = #expect(throws: SystemError.self) { try DurableFile.write([1], to: folder + "/target") }
      #expect(error?.code == .isDirectory && error?.subject == folder + "/target")
      #expect(try Folder.textNames(folder) == ["target"])
      let missing = #expect(throws: SystemError.self) { try DurableFile.write([1], to: folder + "/no/file") }
      #expect(missing?.code == .noSuchFileOrDirectory)
      #expect(try Folder.textNames(folder) == ["target"])
    }
  }

  /// The last writer wins; nobody reads a mixture.
  @Test func concurrentWritesAreAtomic() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      try Parallel.forEach(16, threads: 4) { index throws(SystemError) in
        try DurableFile.write([UInt8](repeating: UInt8(index), count: 100_000 + index), to: path)
        let read = try DurableFile.read(path) ?? []
        if Set(read).count != 1 || read.count != 100_000 + Int(read.first ?? 0) {
          throw SystemError("read", on: "mixed", code: .ioError)
        }
      }
      #expect(try Folder.textNames(folder) == ["file"])
    }
  }

  @Test func limitsAreExact() throws {
    try withTemporaryFolder { folder in
      try DurableFile.write([1, 2, 3], to: folder + "/file")
      #expect(try DurableFile.read(folder + "/file", limit: 3) == [1, 2, 3])
      let error = #expect(throws: SystemError.self) { try DurableFile.read(folder + "/file", limit: 2) }
      #expect(error?.description == "\(folder)/file: File too large (read)")
    }
  }

  /// Opening a FIFO without a writer doesn't block.
  @Test func otherKindsOfFiles() throws {
    try withTemporaryFolder { folder in
      try #require(mkfifo(folder + "/fifo", 0o600) == 0)
      #expect(try DurableFile.read(folder + "/fifo") == [])
      try Kernel.makeFolder(folder + "/sub")
      let error = #expect(throws: SystemError.self) { try DurableFile.read(folder + "/sub") }
      #expect(error?.code == .isDirectory && error?.isOfFile == true)
      try #require(symlink("loop", folder + "/loop") == 0)
      try #require(symlink("nowhere", folder + "/dangling") == 0)
      func kind(_ name: String) throws -> String {
        switch try Kernel.openFile("\(folder)/\(name)") {
        case .file(_, let status): "file of \(status.size)"
        case .other: "other"
        case .missing: "missing"
        }
      }
      try DurableFile.write([1], to: folder + "/file")
      #expect(try ["fifo", "sub", "loop"].map(kind) == ["other", "other", "other"])
      #expect(
        try ["dangling", "none", "file/x", "file"].map(kind) == [
          "missing", "missing", "missing", "file of 1",
        ])
    }
  }

  @Test func locksAreReleased() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/lock"
      // Longer than any process id: it must be overwritten completely.
      try DurableFile.write(Array("99999999999999999999\n".utf8), to: path)
      #expect(FileLock.holder(path) == nil)
      for _ in 1...2 {
        let lock = try FileLock.take(path)
        let isTaken = lock != nil
        #expect(isTaken)
        #expect(try DurableFile.read(path) == Array("\(getpid())\n".utf8))
        _ = consume lock
      }
      // The file stays, and still names the last holder.
      #expect(FileLock.holder(path) == getpid() && FileLock.holder(folder + "/none") == nil)
      let error = #expect(throws: SystemError.self) { _ = try FileLock.take(folder + "/no/lock") == nil }
      #expect(error?.code == .noSuchFileOrDirectory)
    }
  }
}

@Suite struct NewFileTests {
  @Test func existingFilesAreNotReplaced() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/a"
      try DurableFile.write([1, 2], to: path, mode: 0o600, replaces: false)
      #expect(try DurableFile.read(path) == [1, 2])
      #expect(try Kernel.status(path).map { $0.mode & 0o777 } == 0o600)
      #expect {
        try DurableFile.write([3], to: path, replaces: false)
      } throws: { ($0 as? SystemError)?.code == .fileExists }
      #expect(try DurableFile.read(path) == [1, 2])
      #expect(try Folder.textNames(folder) == ["a"], "no temporary file stays")
    }
  }
}

/// The messages and kinds of system errors.
@Suite struct SystemErrorTests {
  private static func error(_ code: Errno, _ call: StaticString = "open", on subject: String? = "x")
    -> SystemError
  {
    SystemError(call, on: subject, code: code)
  }

  @Test func messages() {
    #expect(Self.error(.noSpace).description == "x: No space left on device (open)")
    #expect(Self.error(.ioError, "fsync", on: nil).description == "Input/output error (fsync)")
    #expect(
      Self.error(.permissionDenied, "mkdir").description
        == "the folder x can't be created: Permission denied (mkdir)")
    #expect(Self.error(.noSpace, "mkdir", on: nil).description == "No space left on device (mkdir)")
  }

  @Test func kinds() {
    let all: [Errno] = [
      .noSpace, .diskQuotaExceeded, .ioError, .structureNeedsCleaning, .tooManyOpenFiles,
      .tooManyOpenFilesInSystem, .isDirectory, .permissionDenied, .noSuchFileOrDirectory,
    ]
    #expect(all.filter { Self.error($0).isDiskFull } == [.noSpace, .diskQuotaExceeded])
    #expect(all.filter { Self.error($0).isDamage } == [.ioError, .structureNeedsCleaning])
    #expect(
      all.filter { Self.error($0).isOutOfDescriptors } == [.tooManyOpenFiles, .tooManyOpenFilesInSystem])
    #expect(
      all.filter { Self.error($0).isOfFile } == [
        .ioError, .structureNeedsCleaning, .isDirectory, .permissionDenied,
      ])
  }

  @Test func equality() {
    #expect(Self.error(.ioError) == Self.error(.ioError))
    #expect(
      Self.error(.ioError) != Self.error(.noSpace) && Self.error(.ioError) != Self.error(.ioError, "read"))
    #expect(Self.error(.ioError) != Self.error(.ioError, on: nil))
  }

  /// Literal addresses need no name server.
  @Test func literalAddresses() {
    #expect(HostAddresses.of("192.0.2.7") == [[192, 0, 2, 7]])
    #expect(
      HostAddresses.of("2001:db8::1") == [[0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]])
    #expect(HostAddresses.of("") == [] && HostAddresses.of("a b") == [])
  }
}
