import Manifests
import System

/// The state of a channel after each act, derived from the documentation alone: contents are numbers, and versions count up.
struct RolloutModel: Equatable {
  /// The number of each bundle's content.
  typealias Content = [String: Int]

  struct Audience: Equatable {
    var share: Int
    var groups: [String] = []
    var range = AppRange.all
  }

  struct Candidate: Equatable {
    var version: Int
    var content: Content
    var audience: Audience
    var isPaused = false
    var isRollback = false
    /// Nil until the first answer that names it.
    var seed: String?
    /// The version of the prefetch config that belongs to it.
    var plan: Int?
  }

  private(set) var newest = 0
  private(set) var full = 0
  private(set) var content: Content = [:]
  /// The newest full version that was made by a rollback.
  private(set) var rollback: Int?
  var candidate: Candidate?
  /// The version of the channel's prefetch config; 0 before the first.
  private(set) var plan = 0
  /// The content of each config.
  private(set) var plans = [0: 0]
  /// The content of each full version.
  private(set) var past: [Int: Content] = [:]

  var candidateBundles: Set<String> {
    guard let candidate else { return [] }
    return Set(candidate.content.keys).union(content.keys).filter { candidate.content[$0] != content[$0] }
  }

  private mutating func next() -> Int {
    newest += 1
    return newest
  }

  private mutating func makeFull(_ wanted: Content, isRollback: Bool = false) {
    full = next()
    content = wanted
    past[full] = wanted
    if isRollback { rollback = full }
  }

  mutating func publish(_ bundles: Content, to audience: Audience?) {
    let wanted = content.merging(bundles) { $1 }
    if wanted == content { return }
    let touches = candidateBundles.contains { bundles[$0] != nil && content[$0] != wanted[$0] }
    if let candidate, candidate.content == wanted {
      if audience == nil { complete() }
      return
    }
    if let audience {
      candidate = Candidate(version: next(), content: wanted, audience: audience)
      return
    }
    guard let old = candidate, !touches else {
      makeFull(wanted)
      candidate = nil
      return
    }
    var again = old
    again.content = wanted
    for name in candidateBundles { again.content[name] = old.content[name] }
    makeFull(wanted)
    again.version = next()
    candidate = again
  }

  /// - Returns: false if it should be refused.
  mutating func rollBack(to version: Int, for audience: Audience?) -> Bool {
    guard let wanted = past[version] else { return false }
    // The content that all devices have can't be a candidate.
    if wanted == content, audience != nil { return true }
    if candidate?.content == content {
      if wanted == content { return true }
      guard audience == nil, var again = candidate else {
        candidate = audience.map {
          Candidate(version: next(), content: wanted, audience: $0, isRollback: true)
        }
        return true
      }
      // A candidate that only brought a config has no bundle in common with the rollback.
      makeFull(wanted, isRollback: true)
      (again.version, again.content) = (next(), wanted)
      candidate = again
      return true
    }
    guard let open = candidate else {
      if wanted == content { return true }
      if let audience {
        candidate = Candidate(version: next(), content: wanted, audience: audience, isRollback: true)
      } else {
        makeFull(wanted, isRollback: true)
      }
      return true
    }
    if wanted == open.content {
      if audience != nil { return true }
      if open.isRollback { complete() }
      return open.isRollback
    }
    candidate = nil
    if let audience {
      candidate = Candidate(version: next(), content: wanted, audience: audience, isRollback: true)
    } else {
      makeFull(wanted, isRollback: true)
    }
    return true
  }

  /// - Returns: false if it should be refused.
  mutating func pushPlan(_ number: Int, to audience: Audience?) -> Bool {
    func make() -> Int {
      let version = plans.count
      plans[version] = number
      return version
    }
    guard let audience else {
      // The first one counts, even if it is empty.
      if plan > 0, plans[plan] == number { return true }
      plan = make()
      guard candidate?.plan != nil else { return true }
      candidate?.plan = nil
      if candidate?.content == content { complete() }
      return true
    }
    if let candidate, candidate.audience != audience { return false }
    if plans[candidate?.plan ?? plan] == number { return true }
    if candidate == nil { candidate = Candidate(version: next(), content: content, audience: audience) }
    candidate?.plan = make()
    return true
  }

  mutating func complete() {
    guard let open = candidate else { return }
    if let plan = open.plan { self.plan = plan }
    (full, content, candidate) = (open.version, open.content, nil)
    past[full] = content
    if open.isRollback { rollback = full }
  }

  mutating func halt() {
    guard candidate != nil else { return }
    candidate = nil
    makeFull(content, isRollback: true)
  }
}

/// Ranges of app versions, with the members of `Gadget.versions` in them, written by hand.
enum AppRange: Int, CaseIterable {
  case all, four, five, ends

  var text: String? {
    switch self {
    case .all: nil
    case .four: ">=4.2 <5"
    case .five: ">=5"
    case .ends: "<4.2 || =5.0"
    }
  }

  func contains(_ version: String?) -> Bool {
    switch self {
    case .all: true
    case .four: ["4.2.0", "4.9", "5.0.0-rc.1"].contains(version)
    case .five: version == "5.0"
    case .ends: version == "4.1" || version == "5.0"
    }
  }
}

/// A bucket, computed as `docs/protocol.md` describes it.
enum Bucket {
  static func of(_ id: [UInt8], _ seed: String) -> Int {
    let digest = SHA256.of(id + Array(seed.utf8)).hex.prefix(16)
    return digest.reduce(0) { ($0 * 16 + ($1.hexDigitValue ?? 0)) % 10_000 }
  }
}
