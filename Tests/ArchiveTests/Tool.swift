import Foundation
import System

/// Other programs, for what they make of our archives and we of theirs.
enum Tool {
  static func exists(_ name: String) -> Bool {
    (Environment.variables["PATH"] ?? "").split(separator: ":").contains {
      access("\($0)/\(name)", X_OK) == 0
    }
  }

  /// The exit status of a program.
  static func run(_ words: [String], in folder: String = "/") throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.standardOutput = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    var environment = ProcessInfo.processInfo.environment
    environment["LC_ALL"] = "C.UTF-8"
    process.environment = environment
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}

extension [UInt8] {
  func save(to path: String) throws { try DurableFile.write(self, to: path) }
}

/// A folder of a test's own, gone with it.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/xcache-archive-\(UUID().uuidString)"
    try Kernel.makeFolder(path)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
