import Manifests

/// The answers that are held, and for how long. Its times are milliseconds of a clock that never goes back; a file's are those
/// since 1970.
struct AddressCache: Sendable {
  private struct CachedAnswer: Sendable {
    var answer: LookupAnswer
    /// Until when it is fresh.
    var expires: Int64
  }

  private var held: [HostName: CachedAnswer] = [:]
  /// Hosts that there were none of, as the service said, and until when that counts. A file has none of them.
  private var absent: [HostName: Int64] = [:]

  /// Hosts at most; of more, those go that ran out first.
  private static let limit = 512
  /// Seconds for which an answer is fresh that doesn't say so, and of one that does at least and at most.
  private static let untold = 60
  private static let times = 10...86_400
  /// Milliseconds for which an answer may be used after it ran out, where nothing better is to be had.
  static let staleFor: Int64 = 3_600_000
  /// Milliseconds for which it counts that there is no such host: a name that is made is found soon, and a page that asks
  /// for a wrong one all the time costs two questions a minute.
  static let absentFor: Int64 = 30_000

  init() {}

  /// An answer that is fresh.
  func fresh(_ host: HostName, at now: Int64) -> LookupAnswer? {
    held[host].flatMap { now < $0.expires ? $0.answer : nil }
  }

  /// An answer that is fresh, or ran out within the last hour.
  func stale(_ host: HostName, at now: Int64) -> LookupAnswer? {
    held[host].flatMap { now - $0.expires < Self.staleFor ? $0.answer : nil }
  }

  /// Keeps an answer.
  mutating func keep(_ answer: LookupAnswer, of host: HostName, at now: Int64) {
    let seconds = answer.seconds.map { min(max($0, Self.times.lowerBound), Self.times.upperBound) }
    held[host] = CachedAnswer(answer: answer, expires: now + Int64(seconds ?? Self.untold) * 1000)
    absent[host] = nil
    guard held.count > Self.limit, let oldest = held.min(by: { $0.value.expires < $1.value.expires }) else {
      return
    }
    held[oldest.key] = nil
  }

  /// Whether the service said a short while ago that there is no such host.
  func isAbsent(_ host: HostName, at now: Int64) -> Bool {
    absent[host].map { now < $0 } ?? false
  }

  /// The service said that there is no such host.
  mutating func keepAbsent(_ host: HostName, at now: Int64) {
    absent[host] = now + Self.absentFor
    guard absent.count > Self.limit, let oldest = absent.min(by: { $0.value < $1.value }) else { return }
    absent[oldest.key] = nil
  }

  /// Another network may have other answers: none is fresh any more.
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
  /// What a file has of it.
  /// - Parameter unix: the time of day, in milliseconds since 1970.
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

  /// Reads a file; what can't be used in it is passed over.
  /// - Parameter unix: the time of day, in milliseconds since 1970.
  init(saved: [UInt8]?, at now: Int64, unix: Int64) {
    guard let saved, let document = try? JSONValue.parse(saved), let hosts = document["hosts"]?.object else {
      return
    }
    // A file of the future was written before the clock was set back, and counts as written now.
    let today = max(unix, document["saved"]?.integer ?? 0)
    for member in hosts.members.prefix(Self.limit) {
      let addresses = (member.value["addresses"]?.array ?? []).compactMap(\.string)
      guard let host = HostName(member.key), let expires = member.value["expires"]?.integer,
        let answer = LookupAnswer(addresses.compactMap { IPAddress($0) }, seconds: nil)
      else { continue }
      // Nothing is fresh for longer than it ever was.
      let left = min(max(0, expires) - today, Int64(Self.times.upperBound) * 1000)
      held[host] = CachedAnswer(answer: answer, expires: now + max(left, -Self.staleFor))
    }
  }
}
