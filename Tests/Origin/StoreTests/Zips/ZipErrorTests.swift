import Archive
import Glibc
import System
import Testing

@testable import Store

/// Errors while making a zip come from several modules; one of an unknown type is still reported as an error.
@Suite struct ZipErrorTests {
  private struct UnknownError: Error, CustomStringConvertible { let description = "something new" }

  @Test func unknownErrorDoesNotCrash() async {
    await #expect(processExitsWith: .success) {
      let words = StoreError(zip: ArchiveError.input("files/a.js", UnknownError())).description
      exit(words.contains("files/a.js") && words.contains("something new") ? 0 : 3)
    }
  }

  @Test func knownErrorsAreConverted() throws {
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
