import Glibc
import System

/// The program under test.
enum Binary {
  /// `XCACHE_BINARY`, else the one that was built beside the tests.
  static let path: String = {
    if let given = getenv("XCACHE_BINARY") { return String(cString: given) }
    guard let tests = try? Kernel.realPath("/proc/self/exe") else { return "xcache" }
    return DurableFile.parent(of: tests) + "/xcache"
  }()
}

/// What a command did.
struct Outcome: Sendable {
  /// `errors` without what `publish` says of a public URL on this machine, which every test's origin has.
  var remarks: String {
    errors.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("devices are told to download from ") }.joined(separator: "\n")
  }

  let exitCode: Int32
  let output: String
  let errors: String
  /// The most memory that was resident, in bytes, about.
  let peakMemory: Int

  init(_ child: Child, seconds: Double = 60) throws {
    exitCode = try child.wait(seconds: seconds)
    output = child.standardOutput
    errors = child.standardError
    peakMemory = child.peakMemory
  }
}
