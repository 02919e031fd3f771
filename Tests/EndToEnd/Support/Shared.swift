import Glibc
import Synchronization
import System
import TestSupport
import Values

/// One origin for all tests that only read: three versions of a small app `shop`, and the apps `many` and `files`.
enum Shared {
  final class ReadOnly: Sendable {
    // Not changed after its creation.
    nonisolated(unsafe) let site: Site
    let digests: [Int: String]
    let maps: [Int: JSONValue]

    var web: Web { site.web }

    func poll(_ query: String = "") throws -> JSONValue { try site.poll(query) }

    init() throws {
      site = try Site(["--public-url", "https://cdn.example.com/hxm/tech"])
      var digests: [Int: String] = [:]
      var maps: [Int: JSONValue] = [:]
      for version in 1...3 {
        let files = (0..<12).map { ("page-\($0).html", "<p>\($0 == version ? "new" : "old")") }
        try site.publish(
          Files(uniqueKeysWithValues: files + [("only-\(version).js", "v\(version)")]))
        let data = try site.poll()["data"]
        digests[version] = data?["digest"]?.string
        maps[version] = data?["resourcemap"]
      }
      try site.publish(Shared.many, app: "many")
      try site.publish(["data.bin": Shared.digits], app: "files")
      self.digests = digests
      self.maps = maps
    }
  }

  /// Files that make a manifest large enough to be coded.
  static let many = Files(uniqueKeysWithValues: (0..<40).map { ("page-\($0).html", "<p>\($0)") })

  static let digits = "0123456789abcdef"

  private static let made = Result {
    let shared = try ReadOnly()
    process.store(Int(shared.site.server.id), ordering: .relaxed)
    // It is kept until the test process exits.
    atexit {
      kill(pid_t(Shared.process.load(ordering: .relaxed)), SIGKILL)
      Shared.scratch.withLock { Scratch.remove($0) }
    }
    scratch.withLock { $0 = shared.site.scratch.path }
    return shared
  }

  private static let process = Atomic<Int>(0)
  private static let scratch = Locked("")

  static func site<Value>(_ body: (ReadOnly) throws -> Value) throws -> Value { try body(made.get()) }
}
