import System
import Testing

@Suite struct FolderTests {
  @Test func entriesAreSortedByTheirBytes() throws {
    try withTemporaryFolder { folder in
      for name in ["b", "a", "é", "B", ".hidden"] { try DurableFile.write([1, 2], to: "\(folder)/\(name)") }
      try Kernel.makeFolder("\(folder)/c")
      #expect(try Folder.textNames(folder) == [".hidden", "B", "a", "b", "c", "é"])
      let entries = try Folder.entries(folder) { name in
        name == Array("B".utf8) ? nil : String(decoding: name, as: UTF8.self)
      }
      #expect(entries.map(\.name) == [".hidden", "a", "b", "c", "é"])
      #expect(entries.map { $0.status.kind == .file ? $0.status.size : -1 } == [2, 2, 2, -1, 2])
    }
  }

  @Test func hardLinksAreListed() throws {
    try withTemporaryFolder { folder in
      try DurableFile.write([1], to: folder + "/file")
      try Kernel.makeFolder(folder + "/sub")
      #expect(try Kernel.link(folder + "/file", to: folder + "/hard"))
      let statuses = try Folder.entries(folder) { String(decoding: $0, as: UTF8.self) }
      #expect(statuses.map(\.name) == ["file", "hard", "sub"])
      #expect(statuses[0].status.inode == statuses[1].status.inode)
    }
  }

  @Test func holderIsTheNearestParent() throws {
    try withTemporaryFolder { folder in
      let root = try Kernel.realPath(folder)
      try Kernel.makeFolder(root + "/a/b/c")
      try DurableFile.write([], to: root + "/xcache.json")
      #expect(try Folder.holder(of: "xcache.json", from: root + "/a/b/c") == root)
      #expect(try Folder.holder(of: "xcache.json", from: root + "/a/none/at/all") == root)
      try DurableFile.write([], to: root + "/a/b/xcache.json")
      #expect(try Folder.holder(of: "xcache.json", from: root + "/a/b/c") == root + "/a/b")
      #expect(try Folder.holder(of: "no-such-file-anywhere", from: root + "/a") == nil)
    }
  }

  @Test func removingAMissingFolderIsNoError() throws {
    try withTemporaryFolder { folder in
      try Kernel.removeFolder(folder + "/none")
      try Kernel.makeFolder(folder + "/full")
      try DurableFile.write([], to: folder + "/full/file")
      let error = #expect(throws: SystemError.self) { try Kernel.removeFolder(folder + "/full") }
      #expect(error?.code == .directoryNotEmpty)
    }
  }

  @Test func openFilesCanBeReplaced() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      try DurableFile.write(Array("old".utf8), to: path)
      let open = try Kernel.open(path, .read)
      try DurableFile.write(Array("newer".utf8), to: path, mode: 0o600)
      #expect(try DurableFile.read(path) == Array("newer".utf8))
      // An open descriptor still reads the old file.
      #expect(try Kernel.status(open).size == 3)
      #expect(try (Kernel.status(path)?.mode ?? 0) & 0o777 == 0o600)
      // Nothing is left beside it.
      #expect(try Folder.textNames(folder) == ["file"])
    }
  }

  @Test func parentsOfPaths() {
    #expect(DurableFile.parent(of: "/a/b/c") == "/a/b")
    #expect(DurableFile.parent(of: "/a") == "/")
    #expect(DurableFile.parent(of: "a/b") == "a")
    #expect(DurableFile.parent(of: "a") == "." && DurableFile.parent(of: "/") == "/")
  }

  /// Also before 1970, where the fraction of a second is positive.
  @Test(arguments: [0, 1, -1, -1_000, -1_001, 1_600_000_000_123] as [Int64])
  func modificationTimesRoundTrip(milliseconds: Int64) throws {
    try withTemporaryFolder { folder in
      try DurableFile.write([], to: folder + "/file")
      try Kernel.setModified(folder + "/file", to: milliseconds)
      #expect(try Kernel.status(folder + "/file")?.modified == milliseconds * 1_000_000)
    }
  }

  @Test func modificationTimesAreSet() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/file"
      try DurableFile.write([], to: path)
      try Kernel.setModified(path, to: 1_600_000_000_123)
      #expect(try Kernel.status(path)?.modified == 1_600_000_000_123_000_000)
      #expect(try Kernel.status(folder + "/none") == nil)
      let space = try Kernel.space(folder)
      #expect(space.size > 0 && space.available <= space.size)
    }
  }
}
