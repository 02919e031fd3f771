import Glibc
import TestSupport

/// What tests can do on this machine.
enum Privileges {
  /// Runs a program as `nobody`, who is subject to file permissions.
  static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  static let canBeNobody = works(nobody + [Binary.path, "--version"])

  /// Runs a program with a file system of its own at `folder`, of `size` as tmpfs takes it. It is unmounted when the program ends.
  static func mounting(_ size: String, on folder: String) -> [String] {
    [
      "unshare", "--mount", "sh", "-c",
      "mkdir -p \"$0\" && mount -t tmpfs -o size=\(size) tmpfs \"$0\" && exec \"$@\"", folder,
    ]
  }

  static let canMount: Bool = {
    guard let scratch = try? Scratch() else { return false }
    return works(mounting("1m", on: scratch.path + "/disk") + ["true"])
  }()

  static let hasSQLite = works(["sqlite3", "--version"])

  private static func works(_ words: [String]) -> Bool {
    guard let child = try? Child(words, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], in: "/")
    else {
      return false
    }
    return (try? child.wait(seconds: 10)) == 0
  }

  /// Whether the programs were built with a sanitizer (`make test-sanitizers`), which keeps freed memory, so that their memory use means
  /// nothing.
  static let hasSanitizer = getenv("XCACHE_SANITIZER") != nil

  /// Whether slow and large tests run: XCACHE_LONG_TESTS=1 (`make test-long`).
  static let wantsLong = getenv("XCACHE_LONG_TESTS") != nil
}
