import Manifests
import Values

extension Policy {
  /// Whether devices do at most what they do by another policy: what is off stays off as long, and what is bypassed stays bypassed as long.
  ///
  /// A kill switch and a bypass wait for no approval, but an earlier end takes them back.
  /// - Parameters:
  ///   - before: the policy in force.
  ///   - now: what has expired by then doesn't count.
  func isRestriction(of before: Policy, at now: Instant) -> Bool {
    let (before, after) = (before.current(at: now), current(at: now))
    guard after.usesHTTPDNS == before.usesHTTPDNS, after.scripts == before.scripts else { return false }
    if !before.intercept {
      guard !after.intercept, Self.lasts(after.until, as: before.until) else { return false }
    }
    return before.bypass.allSatisfy { entry in
      after.bypass.contains { $0.pattern == entry.pattern && Self.lasts($0.until, as: entry.until) }
    }
  }

  /// Whether an end is as late as another one; nil: never.
  private static func lasts(_ end: Instant?, as other: Instant?) -> Bool {
    guard let end else { return true }
    return other.map { $0 <= end } ?? false
  }
}
