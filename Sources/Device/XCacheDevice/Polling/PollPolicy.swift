import Manifests
import Values

/// When a device polls, and where: the origin, or its static copy on the CDN after five failures in a row.
///
/// It does no I/O, reads no clock and draws no random numbers: each call is given the time, in milliseconds since 1970, so that
/// saved decisions survive a restart of the app.
package struct PollPolicy: Equatable, Sendable {
  /// The server that answers a poll.
  package enum Source: String, Sendable {
    case origin
    /// The static copy at the fallback URL.
    case mirror
  }

  /// What `begin` allows.
  package enum Decision: Equatable, Sendable {
    case poll(Source)
    /// Too early; the next poll may start after this many milliseconds.
    case wait(Int64)
  }

  /// The allowed seconds between polls; the lower bound is the default.
  package static let intervals: ClosedRange<Int64> = 30...3600
  /// The number of failed polls in a row after which the device turns to the mirror.
  package static let failuresBeforeFallback = 5
  /// The milliseconds between two polls of an origin that is down: the first and the longest wait.
  package static let originWaits: ClosedRange<Int64> = 30_000...600_000

  /// Whether the app was built with a fallback URL.
  package let hasFallback: Bool
  /// The server that the device currently relies on.
  package internal(set) var source: Source = .origin
  /// The number of failed polls of the origin since its last good answer.
  package internal(set) var failures = 0
  /// The seconds between polls.
  package internal(set) var interval = Self.intervals.lowerBound
  /// The newest known version that a rollback made; 0 if none.
  private(set) var rollback: Int64 = 0
  var lastPoll: Int64?
  var originWait = Self.originWaits.lowerBound
  var originDue: Int64 = 0

  package init(hasFallback: Bool) {
    self.hasFallback = hasFallback
  }

  /// Decides whether a poll may start now, and where; a poll that is allowed counts as started.
  ///
  /// `force` skips the interval, not the choice of server.
  package mutating func begin(at now: Int64, force: Bool = false) -> Decision {
    let left = untilDue(at: now)
    if left > 0, !force { return .wait(left) }
    lastPoll = now
    return .poll(source == .origin || originIsDue(at: now) ? .origin : .mirror)
  }

  /// Whether a poll may start now.
  package func isDue(at now: Int64) -> Bool { untilDue(at: now) == 0 }

  /// Records a good answer, which may carry the operator's `interval` in seconds.
  package mutating func recordAnswer(from answerer: Source, interval asked: Int?) {
    interval = min(max(Int64(asked ?? 0), Self.intervals.lowerBound), Self.intervals.upperBound)
    guard answerer == .origin else { return }
    source = .origin
    failures = 0
  }

  /// Records the newest version that a rollback made, if an answer names it; a mirror's may be outdated.
  package mutating func recordRollback(_ version: Int64?, from answerer: Source) {
    guard let version else { return }
    rollback = answerer == .origin ? version : max(rollback, version)
  }

  /// Whether a rollback happened between the version that a page was opened from and the one held: such a page gets no
  /// set-aside files.
  package func isRolledBack(from version: String, to held: Int64) -> Bool {
    guard let version = ManifestVersion(text: version)?.number else { return true }
    return version < rollback && held >= rollback
  }

  /// Records a failed poll: no connection, a timeout, an HTTP error, a code other than 200, or unreadable JSON; the request
  /// without a pack counts too. `chance`, from 0 to 1, selects the jitter of the next wait.
  package mutating func recordFailure(of asked: Source, at now: Int64, chance: Double) {
    guard asked == .origin else { return }
    failures += 1
    if source == .mirror {
      originWait = min(originWait * 2, Self.originWaits.upperBound)
    } else if hasFallback, failures >= Self.failuresBeforeFallback {
      source = .mirror
      originWait = Self.originWaits.lowerBound
    } else {
      return
    }
    originDue = now + Self.spread(originWait, chance)
  }

  /// Whether a manifest that `answerer` offers replaces the one held.
  ///
  /// A mirror may be older than what the device has, so it only moves a device to newer versions. The origin is authoritative:
  /// after a rollback or a restore, it moves the device to whatever it has.
  package static func accepts(
    _ offered: (version: Int64, digest: String), from answerer: Source,
    over held: (version: Int64, digest: String)
  ) -> Bool {
    switch answerer {
    case .mirror: offered.version > held.version
    case .origin: offered != held
    }
  }

  private func untilDue(at now: Int64) -> Int64 {
    // A clock that was set back must not silence the device.
    guard let lastPoll, lastPoll <= now else { return 0 }
    return max(0, interval * 1000 - (now - lastPoll))
  }

  private func originIsDue(at now: Int64) -> Bool {
    now >= originDue || originDue - now > Self.originWaits.upperBound * 2
  }

  /// Returns `milliseconds` ±20 %, so that devices don't all come back to the origin at once.
  private static func spread(_ milliseconds: Int64, _ chance: Double) -> Int64 {
    milliseconds + Int64(Double(milliseconds) * 0.4 * (min(max(chance, 0), 1) - 0.5))
  }
}

extension PollPolicy {
  /// Returns the contents of `poll.json`, for the next process.
  func saved(server: String) -> [UInt8] {
    var document: JSONObject = JSONObject()
    document["failures"] = .integer(failures)
    document["interval"] = .integer(interval)
    document["lastPoll"] = lastPoll.map { .integer($0) }
    document["originDue"] = .integer(originDue)
    document["originWait"] = .integer(originWait)
    document["rollback"] = .integer(rollback)
    document["server"] = .string(server)
    document["source"] = .string(source.rawValue)
    return JSONValue.object(document).canonical
  }

  /// Reads what was saved; starts afresh if that can't be read, or is for another server.
  init(saved bytes: [UInt8]?, server: String, hasFallback: Bool) {
    self.init(hasFallback: hasFallback)
    guard let document = bytes.flatMap({ try? JSONValue.parse($0) }), document["server"]?.string == server,
      let failures = document["failures"]?.integer, failures >= 0,
      let interval = document["interval"]?.integer, Self.intervals.contains(interval),
      let originDue = document["originDue"]?.integer, originDue >= 0,
      let originWait = document["originWait"]?.integer, Self.originWaits.contains(originWait),
      let source = document["source"]?.string.flatMap(Source.init(rawValue:))
    else { return }
    self.failures = Int(failures)
    self.interval = interval
    self.originDue = originDue
    self.originWait = originWait
    self.source = hasFallback ? source : .origin
    rollback = document["rollback"]?.integer.map { max(0, $0) } ?? 0
    lastPoll = document["lastPoll"]?.integer.flatMap { $0 >= 0 ? $0 : nil }
  }
}
