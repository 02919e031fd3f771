import Foundation
import SocketServer
import System
import Testing
import TestSupport

/// A part of `make test-exchanges`, in which our fetcher and other clients send the same requests to one server.
@Suite(.enabled(if: Differential.isPossible)) struct DifferentialTests {
  @Test func everyFifthExchangeAgrees() throws {
    let file = NSTemporaryDirectory() + "xcache-differential-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: file) }
    let process = try SpawnedProcess(
      "/usr/bin/python3", [Differential.script, Differential.program, "--every", "5"], output: file)
    let status = process.waitUntilExit()
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(status == 0, "\(text)")
    #expect(text.contains("exchanges, 0 differ"))
  }
}

private enum Differential {
  static let script = Repository.root + "/Tests/Exchanges/run.py"

  /// Built beside the tests.
  static let program =
    ((try? Kernel.realPath("/proc/self/exe")).map { DurableFile.parent(of: $0) } ?? ".") + "/network-bench"

  static var isPossible: Bool {
    guard FileManager.default.isExecutableFile(atPath: program) else { return false }
    let process = try? SpawnedProcess(
      "/bin/sh", ["-c", "curl --version && python3 -c 'import zstandard'"])
    return process?.waitUntilExit() == 0
  }
}
