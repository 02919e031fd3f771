import Foundation
import System
import Testing

/// A part of `make test-exchanges`: our fetcher and other clients ask one server the same.
@Suite(.enabled(if: Differential.isPossible)) struct DifferentialTests {
  @Test func everyFifthExchangeIsTheSame() throws {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [Differential.script, Differential.program, "--every", "5"]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("exchanges, 0 differ"))
  }
}

private enum Differential {
  static let script =
    "\(DurableFile.parent(of: DurableFile.parent(of: DurableFile.parent(of: #filePath))))/Exchanges/run.py"

  /// Built beside the tests.
  static let program =
    ((try? Kernel.realPath("/proc/self/exe")).map { DurableFile.parent(of: $0) } ?? ".") + "/network-bench"

  static var isPossible: Bool {
    guard FileManager.default.isExecutableFile(atPath: program) else { return false }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sh", "-c", "curl --version && python3 -c 'import zstandard'"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
