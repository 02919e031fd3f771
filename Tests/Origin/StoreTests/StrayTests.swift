import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Stray objects in the place of files: a FIFO, on which open(2) blocks until there is a writer, or a folder, which can't be removed like a
/// file.
@Suite struct StrayTests {
  let scratch = Scratch()

  /// Makes a FIFO in a file's place. If the test blocks on it, it is killed after a while.
  private static func pipe(_ path: String) throws {
    alarm(20)
    try Kernel.remove(path)
    #expect(mkfifo(path, 0o600) == 0)
  }

  private static let bad = Sample("a file of bytes")

  @Test func backupSkipsFIFOs() async throws {
    await #expect(processExitsWith: .success) { [path = scratch.path as String] in
      let store = try Store(path: path + "/data")
      try store.publish(base: 0, set: ["a.js": Self.bad, "b.js": Sample("b")])
      try Self.pipe(store.folder.blob(Self.bad.claim.sha256))
      try Kernel.makeFolder("\(store.folder.zips)/1")
      try Self.pipe("\(store.folder.zips)/1/1-2.key.tag.zip")
      let report = try store.backUp(to: path + "/backup")
      #expect(report.copied == 1 && report.damaged == [Self.bad.claim.sha256])
    }
  }

  @Test func restoreSkipsFIFOs() async throws {
    await #expect(processExitsWith: .success) { [path = scratch.path as String] in
      let store = try Store(path: path + "/data")
      try store.publish(base: 0, set: ["a.js": Self.bad, "b.js": Sample("b")])
      _ = try store.backUp(to: path + "/backup")
      let backup = DataFolder(path: path + "/backup")
      try Self.pipe(backup.blob(Self.bad.claim.sha256))
      try Kernel.makeFolder("\(backup.zips)/1")
      try Self.pipe("\(backup.zips)/1/1-2.key.tag.zip")
      let report = try Restore.restore(backup: backup.path, to: path + "/restored")
      #expect(report.copied == 1 && report.damaged == [Self.bad.claim.sha256])
    }
  }

  @Test func fifoIsNotAnUpload() async throws {
    await #expect(processExitsWith: .success) { [path = scratch.path as String] in
      do { try Store(path: path).send([Self.bad]) }
      let whole = DataFolder(path: path).whole(Self.bad.claim.sha256)
      try Self.pipe(whole)
      let store = try Store(path: path)
      #expect(try store.missing(of: [Self.bad.claim.sha256]) == [Self.bad.claim.sha256])
      try store.send([Self.bad])
      // A FIFO that replaces a file later doesn't block a release, and isn't in one.
      try Self.pipe(whole)
      #expect(throws: StoreError.self) { try store.publish(base: 0, set: ["a.js": Self.bad], sends: false) }
      try store.publish(base: 0, set: ["a.js": Self.bad])
      try Self.pipe(store.folder.blob(Self.bad.claim.sha256))
      #expect(try store.bytes(of: Self.bad.claim.sha256, limit: 100) == nil)
    }
  }

  @Test func startSetsFoldersAside() throws {
    let folder = DataFolder(path: scratch.data)
    do { try scratch.open().send([Self.bad]) }
    let unexpectedFolders = [
      folder.temporary + "/incoming-1-1", folder.whole + "/" + SHA256.of([1]).hex, folder.whole + "/mine",
    ]
    for stray in unexpectedFolders {
      try Kernel.makeFolder(stray)
      try DurableFile.write([1], to: stray + "/notes")
    }
    let store = try scratch.open()
    #expect(store.unexpectedFolders.map(\.path) == unexpectedFolders)
    for stray in store.unexpectedFolders {
      #expect(try DurableFile.read(try #require(stray.movedTo) + "/notes") == [1])
    }
    #expect(try Folder.textNames(folder.temporary) == ["whole"])
    #expect(try store.missing(of: [.of([1]), Self.bad.claim.sha256]) == [.of([1])])
  }

  @Test func sweepSetsFoldersAside() throws {
    let now = Locked<Int64>(Clock.unixMilliseconds())
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    for stray in [store.folder.temporary + "/incoming-1-1", store.folder.whole + "/mine"] {
      try Kernel.makeFolder(stray)
      try DurableFile.write([1], to: stray + "/notes")
    }
    now.withLock { $0 += 25 * 3_600_000 }
    #expect(throws: Never.self) { try store.sweepUploads() }
    #expect(try Folder.textNames(store.folder.temporary) == ["whole"])
    #expect(try Folder.textNames(store.folder.quarantine).count == 2)
  }
}
