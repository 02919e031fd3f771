import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Each disk operation fails once; nothing partial may be left, and a retry must succeed.
@Suite struct FaultTests {
  /// Counts the operations, and makes one of them fail.
  final class Fault: Sendable {
    private let state: Locked<(step: Int, failing: Int)>
    let code: Errno

    init(failing: Int, code: Errno) {
      state = Locked((0, failing))
      self.code = code
    }

    var hasFailed: Bool { state.withLock { $0.step >= $0.failing } }

    func next(_ step: StaticString, _ path: String) throws(SystemError) {
      let fails = state.withLock { state in
        state.step += 1
        return state.step == state.failing
      }
      if fails { throw SystemError(step, on: path, code: code) }
    }
  }

  private let first = ["a": Sample("first")]

  @Test(arguments: [Errno.noSpace, .ioError], [2, 40])
  func failedOperationChangesNothing(code: Errno, files: Int) throws {
    var second: [String: Sample] = [:]
    for number in 0..<files { second["f\(number)"] = Sample("second \(number)") }
    for failing in 1... {
      let scratch = Scratch()
      do {
        let store = try scratch.open()
        try store.publish(base: 0, set: first)
      }
      let fault = Fault(failing: failing, code: code)
      var options = Store.Options()
      options.disk = Disk { (step, path) throws(SystemError) in try fault.next(step, path) }
      var store: Store? = try scratch.open(options)
      do {
        try store?.publish(base: 1, set: second)
        #expect(!fault.hasFailed)
        #expect(failing > 4)
        return
      } catch StoreError.diskFull {
        #expect(code == .noSpace)
      } catch StoreError.system(let error) {
        #expect(error.code == code)
      }
      #expect(try store?.shop().version == ManifestVersion(1))
      // In every second round, the process restarts before it retries.
      if failing % 2 == 0 {
        store = nil
        store = try scratch.open()
      }
      let again = try #require(try store?.publish(base: 1, set: second))
      #expect(again.version == ManifestVersion(2) && again.resources == 1 + files)
      let folder = DataFolder(path: scratch.data)
      for sample in second.values {
        #expect(try DurableFile.read(folder.blob(sample.claim.sha256)) == sample.bytes)
      }
      #expect(try Folder.textNames(folder.temporary) == ["whole"])
    }
  }

  @Test func fullDatabaseChangesNothing() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: first)
    var set: [String: Sample] = [:]
    for number in 0..<2000 { set["folder/file-\(number).js"] = Sample("same") }
    try store.connections.writing { (db) throws(StoreError) in
      let pages = try db.value(Int.self, "PRAGMA page_count") ?? 0
      try db.script("PRAGMA max_page_count = \(pages + 4)")
    }
    #expect { try store.publish(base: 1, set: set) } throws: {
      if case StoreError.diskFull = $0 { true } else { false }
    }
    #expect(try store.shop().version == ManifestVersion(1))
    try store.connections.writing { (db) throws(StoreError) in try db.script("PRAGMA max_page_count = 100000")
    }
    #expect(try store.publish(base: 1, set: set, sends: false).resources == 2001)
  }

  @Test func failedDigestEndsTheRelease() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.send(first.values)
    let request = try store.request([try store.change("main", base: 0, set: first)])
    #expect(throws: StoreError.self) {
      _ = try store.commit(request, digest: { (_) throws(StoreError) in throw .unknownVersion(.none) })
    }
    #expect(try store.channels().isEmpty)
    #expect(throws: Never.self) { _ = try store.commit(request) }
  }
}
