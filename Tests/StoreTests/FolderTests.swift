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
