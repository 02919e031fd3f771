import Manifests
import System

/// A policy as `policy show` and `status` say it.
struct PolicyWords {
  private let policy: Policy
  private let now = Instant(milliseconds: Clock.unixMilliseconds())

  init(_ json: JSONValue?) { policy = Policy(reading: json ?? .null) }

  /// The line that has to be seen while the kill switch is on.
  func alarm(_ terminal: Terminal) -> String? {
    guard policy.isKilled(at: now) else { return nil }
    let end = policy.until.map { "until \($0)" } ?? "until `xcache policy resume`"
    return terminal.colour("KILLED     interception is off \(end): devices use the network only", .red)
  }

  func lines(_ terminal: Terminal) -> [String] {
    var lines = [alarm(terminal) ?? "interception is on"]
    for entry in policy.bypass {
      let end = entry.until.map { now < $0 ? "  until \($0)" : "  lapsed at \($0)" } ?? ""
      lines.append("bypassed   \(entry.pattern)\(end)")
    }
    for script in policy.scripts { lines.append("script     \(script.name)  sha256 \(script.sha256)") }
    return lines
  }
}
