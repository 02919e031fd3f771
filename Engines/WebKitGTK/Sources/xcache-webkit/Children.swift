import Foundation

/// The processes that WebKit started for this one.
enum Children {
  /// Kills all descendants except the spared ones, and waits until they are gone, for at most a second.
  static func end(sparing isSpared: (pid_t) -> Bool) {
    for _ in 0..<50 {
      let left = descendants().filter { !isSpared($0) }
      if left.isEmpty { return }
      for id in left { kill(id, SIGKILL) }
      usleep(20_000)
      // Reaps our own children; init reaps the rest.
      for id in left { waitpid(id, nil, WNOHANG) }
    }
  }

  /// Returns the descendants that are alive.
  static func descendants() -> [pid_t] {
    var parents: [pid_t: pid_t] = [:]
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
      guard let id = pid_t(name), let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
        let end = stat.lastIndex(of: ")")
      else { continue }
      let fields = stat[end...].split(separator: " ")
      guard fields.count > 2, fields[1] != "Z", let parent = pid_t(fields[2]) else { continue }
      parents[id] = parent
    }
    return parents.keys.filter { id in
      var (at, steps) = (id, 0)
      while let parent = parents[at], steps < 64 {
        if parent == getpid() { return true }
        (at, steps) = (parent, steps + 1)
      }
      return false
    }
  }
}
