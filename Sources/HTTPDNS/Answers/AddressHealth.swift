/// How connections to addresses went, from which the order follows in which they are tried.
struct AddressHealth: Sendable {
  private struct Key: Hashable, Sendable {
    let host: HostName
    let address: IPAddress
  }

  private struct Record: Sendable {
    /// Milliseconds that the last connection took; nil where there was none yet.
    var milliseconds: Int?
    var failures = 0
    /// Until when it isn't used.
    var avoidedUntil: Int64 = 0
  }

  private var records: [Key: Record] = [:]

  /// Addresses that are remembered at most.
  private static let limit = 2_048
  /// Milliseconds for which an address is avoided after its first failure; twice as long after each further one.
  private static let pause: Int64 = 60_000
  private static let longestPause: Int64 = 600_000

  /// A connection stood after so many milliseconds.
  mutating func connected(_ address: IPAddress, of host: HostName, after milliseconds: Int) {
    change(address, host) { $0 = Record(milliseconds: milliseconds) }
  }

  /// No connection could be made, or what answered has no certificate for the host.
  mutating func failed(_ address: IPAddress, of host: HostName, at now: Int64) {
    change(address, host) { record in
      record.milliseconds = nil
      record.avoidedUntil = now + min(Self.pause << min(record.failures, 8), Self.longestPause)
      record.failures += 1
    }
  }

  private mutating func change(_ address: IPAddress, _ host: HostName, _ change: (inout Record) -> Void) {
    let key = Key(host: host, address: address)
    // What is lost is some speed; what is kept has a bound.
    if records[key] == nil, records.count >= Self.limit { records = [:] }
    change(&records[key, default: Record()])
  }

  /// Another network is another way to every address.
  mutating func forget() { records = [:] }

  /// The addresses that may be used, best first; none where each failed a short while ago.
  ///
  /// Those whose connections took least go first, then those that are new, in the order received. The families take turns
  /// (RFC 8305 §4), that of the best one first; where none was tried yet, IPv6.
  func ordered(_ addresses: [IPAddress], of host: HostName, at now: Int64) -> [IPAddress] {
    let usable = addresses.enumerated().compactMap { place, address -> (IPAddress, Int, Int)? in
      let record = records[Key(host: host, address: address)]
      if let record, now < record.avoidedUntil { return nil }
      return (address, record?.milliseconds ?? .max, place)
    }
    let ranked = usable.sorted { ($0.1, $0.2) < ($1.1, $1.2) }
    guard let best = ranked.first else { return [] }
    let first = best.1 == .max ? ranked.contains { $0.0.isV6 } : best.0.isV6
    return IPAddress.inTurns(ranked.map(\.0), beginningWithV6: first)
  }
}

/// Whether the service is worth asking.
struct ServiceHealth: Sendable {
  private var failures = 0
  private var pausedUntil: Int64 = 0

  /// Failures in a row after which it is left alone for a while.
  private static let most = 2
  private static let pause: Int64 = 30_000
  private static let longestPause: Int64 = 300_000

  /// Whether it is left alone.
  func isDown(at now: Int64) -> Bool { now < pausedUntil }

  mutating func answered() { self = ServiceHealth() }

  /// It failed, or is late.
  mutating func failed(at now: Int64) {
    failures += 1
    guard failures >= Self.most else { return }
    pausedUntil = now + min(Self.pause << min(failures - Self.most, 8), Self.longestPause)
  }
}
