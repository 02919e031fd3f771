import Glibc
import System

/// The program under test.
enum Binary {
  /// `XCACHE_BINARY`, or the program that was built with the tests.
  static let path: String = {
    if let given = getenv("XCACHE_BINARY") { return String(cString: given) }
    guard let tests = try? Kernel.realPath("/proc/self/exe") else { return "xcache" }
    return DurableFile.parent(of: tests) + "/xcache"
  }()
}

/// The result of a command.
struct Outcome: Sendable {
  /// `errors` without the warning of `publish` about a loopback public URL, which every test's origin has.
  var remarks: String {
    errors.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("devices are told to download from ") }.joined(separator: "\n")
  }

  let exitCode: Int32
  let output: String
  let errors: String
  /// The approximate peak resident memory, in bytes.
  let peakMemory: Int

  init(_ child: Child, seconds: Double = 60) throws {
    exitCode = try child.wait(seconds: seconds)
    output = child.standardOutput
    errors = child.standardError
    peakMemory = child.peakMemory
  }
}
