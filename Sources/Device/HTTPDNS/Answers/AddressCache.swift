import Values

/// The cached answers and their expiry. Times are milliseconds of a clock that never goes back; in a file, milliseconds
/// since 1970.
struct AddressCache: Sendable {
  private struct CachedAnswer: Sendable {
    var answer: LookupAnswer
    /// When the answer stops being fresh.
    var expires: Int64
  }

  private var held: [HostName: CachedAnswer] = [:]
  /// Hosts that don't exist, according to the service, and until when that counts. They aren't saved.
  private var absent: [HostName: Int64] = [:]

  /// The most hosts; beyond that, the first to expire are dropped.
  private static let limit = 512
  /// How many seconds an answer is fresh if it doesn't say so, and the limits if it does.
  private static let defaultSeconds = 60
  private static let secondsRange = 10...86_400
  /// How many milliseconds an expired answer may still be used if nothing better is available.
  static let staleFor: Int64 = 3_600_000
  /// How many milliseconds a missing host counts as missing: a new name is found soon, and a page that keeps asking for a
  /// wrong one costs only two queries a minute.
  static let absentFor: Int64 = 30_000

  init() {}

  /// Returns an answer that is fresh.
  func fresh(_ host: HostName, at now: Int64) -> LookupAnswer? {
    held[host].flatMap { now < $0.expires ? $0.answer : nil }
  }

  /// Returns an answer that is fresh, or expired within the last hour.
  func stale(_ host: HostName, at now: Int64) -> LookupAnswer? {
    held[host].flatMap { now - $0.expires < Self.staleFor ? $0.answer : nil }
  }

  /// Keeps an answer.
  mutating func keep(_ answer: LookupAnswer, of host: HostName, at now: Int64) {
    let seconds = answer.seconds.map {
      min(max($0, Self.secondsRange.lowerBound), Self.secondsRange.upperBound)
    }
    held[host] = CachedAnswer(answer: answer, expires: now + Int64(seconds ?? Self.defaultSeconds) * 1000)
    absent[host] = nil
    guard held.count > Self.limit, let oldest = held.min(by: { $0.value.expires < $1.value.expires }) else {
      return
    }
    held[oldest.key] = nil
  }

  /// Whether the service recently said that the host doesn't exist.
  func isAbsent(_ host: HostName, at now: Int64) -> Bool {
    absent[host].map { now < $0 } ?? false
  }

  /// Records that the host doesn't exist, according to the service.
  mutating func keepAbsent(_ host: HostName, at now: Int64) {
    absent[host] = now + Self.absentFor
    guard absent.count > Self.limit, let oldest = absent.min(by: { $0.value < $1.value }) else { return }
    absent[oldest.key] = nil
  }

  /// Expires all answers, since another network may have others.
  mutating func expire(at now: Int64) {
    absent = [:]
    held = held.mapValues { held in
      var held = held
      held.expires = min(held.expires, now)
      return held
    }
  }
}

extension AddressCache {
  /// Returns the contents to save in a file. `unix` is the time of day, in milliseconds since 1970.
  func saved(at now: Int64, unix: Int64) -> [UInt8] {
    var hosts = JSONObject()
    for (host, held) in held {
      hosts[host.text] = [
        "addresses": .strings(held.answer.addresses.map(\.text)),
        "expires": .integer(held.expires - now + unix),
      ]
    }
    let document: JSONValue = ["hosts": .object(hosts), "saved": .integer(unix)]
    return document.canonical
  }

  /// Restores a saved file, skipping what can't be used. `unix` is the time of day, in milliseconds since 1970.
  init(saved: [UInt8]?, at now: Int64, unix: Int64) {
    guard let saved, let document = try? JSONValue.parse(saved), let hosts = document["hosts"]?.object else {
      return
    }
    // A file from the future was written before the clock was set back; it counts as written now.
    let today = max(unix, document["saved"]?.integer ?? 0)
    for member in hosts.members.prefix(Self.limit) {
      let addresses = (member.value["addresses"]?.array ?? []).compactMap(\.string)
      guard let host = HostName(member.key), let expires = member.value["expires"]?.integer,
        let answer = LookupAnswer(addresses.compactMap { IPAddress($0) }, seconds: nil)
      else { continue }
      // No answer is fresh for longer than a new one could be.
      let left = min(max(0, expires) - today, Int64(Self.secondsRange.upperBound) * 1000)
      held[host] = CachedAnswer(answer: answer, expires: now + max(left, -Self.staleFor))
    }
  }
}
