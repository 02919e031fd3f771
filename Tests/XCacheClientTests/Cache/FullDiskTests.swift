import System
import Testing

@testable import XCacheClient

private let kept = "https://m.test/kept.js"
private let changed = "https://m.test/changed.js"
private let twin = "https://m.test/twin.js"

/// A disk on which nothing can be changed any more: pages have what is there, and the kill switch arrives.
@Suite struct FullDiskTests {
  let bench: Bench
  /// Changes that the disk still takes; nil: as many as come.
  private let left = Locked<Int?>(nil)

  init() throws {
    bench = try Bench()
    try bench.origin.publish([kept: bytes("kept"), changed: bytes("old"), twin: bytes("other")])
  }

  private func device(_ name: String = "device") throws -> Device {
    let left = left
    return try bench.device(
      name,
      willChange: { () throws(ClientError) in
        let isFull = left.withLock { left in
          guard let count = left else { return false }
          left = max(0, count - 1)
          return count == 0
        }
        if isFull {
          throw .file(
            path: "", call: "write", code: Errno.noSpace.rawValue, reason: "No space left on device")
        }
      })
  }

  private func fill(after changes: Int?) { left.withLock { $0 = changes } }

  /// A disk that was full at the first start left these.
  @Test func aFolderThatWasBegunIsTaken() throws {
    let folder = bench.settings().folder
    for name in ["files", "staging"] { try Kernel.makeFolder("\(folder)/\(name)") }
    #expect(try device().update(force: true).to == "1")
  }
}
