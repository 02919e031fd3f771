import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// A data folder without its database isn't taken for a new one.
@Suite struct LostDatabaseTests {
  let scratch = Scratch()

  @Test(arguments: [true, false]) func filesWithoutADatabaseAreLeftUnchanged(isEmpty: Bool) throws {
    do {
      let store = try scratch.open()
      try store.publish(base: 0, set: ["a.js": Sample("a")])
    }
    let folder = DataFolder(path: scratch.data)
    for name in ["", "-wal", "-shm"] where try Kernel.status(folder.database + name) != nil {
      try Kernel.remove(folder.database + name)
    }
    if isEmpty { _ = try Kernel.open(folder.database, [.write, .create]) }
    let error = #expect(throws: StoreError.self) { _ = try scratch.open() }
    guard case .lostDatabase? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect("\(try #require(error))".contains("xcache restore"))
    #expect(try Kernel.status(folder.blob(Sample("a").claim.sha256)) != nil)
  }

  /// A start that was killed before it created the database lost nothing.
  @Test func incompleteNewFolderIsUsed() throws {
    try Kernel.makeFolder(scratch.data + "/blobs/ab")
    _ = try scratch.open()
  }
}
