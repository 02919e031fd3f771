import Glibc

/// What these tests may do on this machine.
enum Privileges {
  /// Starts a program as `nobody`, for whom permissions count.
  static let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

  static let canBeNobody = works(nobody + [Binary.path, "--version"])

  /// Starts a program over a file system of its own on `folder` with room for `size` (as tmpfs takes it); it is
  /// gone with the program.
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

  /// The programs were built with a sanitizer (`make test-sanitizers`), which holds back what they free: how much
  /// memory they take says nothing.
  static let hasSanitizer = getenv("XCACHE_SANITIZER") != nil

  /// Takes a while or much room: asked for with XCACHE_LONG_TESTS=1 (`make test-long`).
  static let wantsLong = getenv("XCACHE_LONG_TESTS") != nil
}
