/// What an app may switch without a new build: interception, pages it leaves alone, injected scripts.
package struct Policy: Hashable, Sendable {
  /// Pages that must not be intercepted.
  package struct Bypass: Hashable, Sendable {
    package let pattern: MatchPattern
    /// When the entry lapses; nil: never.
    package let until: Instant?

    package init(_ pattern: MatchPattern, until: Instant? = nil) {
      self.pattern = pattern
      self.until = until
    }
  }

  /// False: devices use the network only.
  package var intercept = true
  /// When an `intercept` of false lapses; nil: never.
  package var until: Instant?
  /// Each pattern once.
  package var bypass: [Bypass] = []
  /// Each name once.
  package var scripts: [PolicyScript] = []

  /// What a channel has before its first change.
  package static let none = Policy()

  package init() {}

  /// Whether the kill switch is on.
  package func isKilled(at now: Instant) -> Bool { !intercept && (until.map { now < $0 } ?? true) }

  /// Whether an app may answer a page and its resources from what the device holds.
  package func intercepts(_ page: ResourceURL, at now: Instant) -> Bool {
    !isKilled(at: now)
      && !bypass.contains { entry in (entry.until.map { now < $0 } ?? true) && entry.pattern.matches(page) }
  }

  /// The policy without what has lapsed.
  package func current(at now: Instant) -> Policy {
    var policy = self
    if !intercept, !isKilled(at: now) {
      policy.intercept = true
      policy.until = nil
    }
    policy.bypass.removeAll { entry in entry.until.map { $0 <= now } ?? false }
    return policy
  }

  /// Puts a pattern in, in the place of the same one.
  package mutating func add(_ entry: Bypass) {
    if let i = bypass.firstIndex(where: { $0.pattern == entry.pattern }) {
      bypass[i] = entry
    } else {
      bypass.append(entry)
    }
  }

  /// Puts a script in, in the place of the one with its name.
  package mutating func add(_ script: PolicyScript) {
    if let i = scripts.firstIndex(where: { $0.name == script.name }) {
      scripts[i] = script
    } else {
      scripts.append(script)
    }
  }
}
