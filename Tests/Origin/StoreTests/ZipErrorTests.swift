import Archive
import Glibc
import System
import Testing

@testable import Store

/// What keeps a zip from being made comes from several modules; an error that none of them knows is an error still.
@Suite struct ZipErrorTests {
  private struct Novelty: Error, CustomStringConvertible { let description = "something new" }

  @Test func anErrorOfNoKnownTypeEndsNoServer() async {
    await #expect(processExitsWith: .success) {
      let words = StoreError(zip: ArchiveError.input("files/a.js", Novelty())).description
      exit(words.contains("files/a.js") && words.contains("something new") ? 0 : 3)
    }
  }

  @Test func anErrorThatIsKnownIsTheSameInAZip() throws {
    let sha256 = SHA256.of([1])
    guard case .corruptBlob(sha256) = StoreError(zip: .input("a", StoreError.corruptBlob(sha256))) else {
      Issue.record("the store's own error")
      return
    }
    for full in [
      ArchiveError.input("a", SystemError("read", code: .noSpace)),
      .system(SystemError("write", code: .noSpace)),
      .input("a", ArchiveError.system(SystemError("write", code: .diskQuotaExceeded))),
    ] {
      guard case .diskFull = StoreError(zip: full) else {
        Issue.record("\(full)")
        return
      }
    }
  }
}
