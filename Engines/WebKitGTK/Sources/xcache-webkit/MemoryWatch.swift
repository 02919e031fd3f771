import Foundation
import Synchronization

/// Kills page processes that take more memory than a page may, before the machine runs out: a script that fills memory may
/// never get back to where WebKit checks that itself.
final class MemoryWatch: Sendable {
  /// The limit for one process, in megabytes.
  let limit: Int
  private let ended = Atomic(0)

  private static let pause = 0.25

  init(limit: Int) {
    self.limit = limit
    let thread = Thread { [self] in
      while true {
        Thread.sleep(forTimeInterval: Self.pause)
        look()
      }
    }
    thread.name = "memory watch"
    thread.start()
  }

  /// How many processes were killed so far.
  var count: Int { ended.load(ordering: .relaxed) }

  private func look() {
    for id in Children.descendants() where Self.isPage(id) && Self.megabytes(id) > limit {
      ended.add(1, ordering: .relaxed)
      kill(id, SIGKILL)
    }
  }

  private static func isPage(_ id: pid_t) -> Bool {
    // The kernel keeps 15 characters of a name.
    text("/proc/\(id)/comm")?.hasPrefix("WebKitWebProces") ?? false
  }

  private static func megabytes(_ id: pid_t) -> Int {
    let pages = text("/proc/\(id)/statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return (pages * Int(sysconf(Int32(_SC_PAGESIZE)))) >> 20
  }

  private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
