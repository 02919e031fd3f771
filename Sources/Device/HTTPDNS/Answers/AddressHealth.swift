/// How connections to addresses went, which determines the order in which they are tried.
struct AddressHealth: Sendable {
  private struct Key: Hashable, Sendable {
    let host: HostName
    let address: IPAddress
  }

  private struct Record: Sendable {
    /// Milliseconds that the last connection took; nil if there hasn't been one.
    var milliseconds: Int?
    var failures = 0
    /// The time until which the address isn't used.
    var avoidedUntil: Int64 = 0
  }

  private var records: [Key: Record] = [:]

  /// The most addresses that are remembered.
  private static let limit = 2_048
  /// How many milliseconds an address is avoided after its first failure; doubled after each further one.
  private static let pause: Int64 = 60_000
  private static let maxPause: Int64 = 600_000

  /// Records how long a connection to an address took.
  mutating func connected(_ address: IPAddress, of host: HostName, after milliseconds: Int) {
    change(address, host) { $0 = Record(milliseconds: milliseconds) }
  }

  /// Records that no connection could be made, or that the server has no certificate for the host.
  mutating func failed(_ address: IPAddress, of host: HostName, at now: Int64) {
    change(address, host) { record in
      record.milliseconds = nil
      record.avoidedUntil = now + min(Self.pause << min(record.failures, 8), Self.maxPause)
      record.failures += 1
    }
  }

  private mutating func change(_ address: IPAddress, _ host: HostName, _ change: (inout Record) -> Void) {
    let key = Key(host: host, address: address)
    // Bounds the memory; forgetting only costs some speed.
    if records[key] == nil, records.count >= Self.limit { records = [:] }
    change(&records[key, default: Record()])
  }

  /// Forgets everything, since another network reaches every address in another way.
  mutating func forget() { records = [:] }

  /// Returns the usable addresses, best first; none if all failed recently.
  ///
  /// Addresses with the fastest connections come first, then untried ones in the order received. The families alternate
  /// (RFC 8305 §4), starting with that of the best address; if none was tried yet, with IPv6.
  func ordered(_ addresses: [IPAddress], of host: HostName, at now: Int64) -> [IPAddress] {
    let usable = addresses.enumerated().compactMap { index, address -> (IPAddress, Int, Int)? in
      let record = records[Key(host: host, address: address)]
      if let record, now < record.avoidedUntil { return nil }
      return (address, record?.milliseconds ?? .max, index)
    }
    let ranked = usable.sorted { ($0.1, $0.2) < ($1.1, $1.2) }
    guard let best = ranked.first else { return [] }
    let first = best.1 == .max ? ranked.contains { $0.0.isV6 } : best.0.isV6
    return IPAddress.inTurns(ranked.map(\.0), beginningWithV6: first)
  }
}

/// Tracks whether the service is worth asking.
struct ServiceHealth: Sendable {
  private var failures = 0
  private var pausedUntil: Int64 = 0

  /// Failures in a row after which the service isn't asked for a while.
  private static let maxFailures = 2
  private static let pause: Int64 = 30_000
  private static let maxPause: Int64 = 300_000

  /// Whether the service isn't asked at the moment.
  func isDown(at now: Int64) -> Bool { now < pausedUntil }

  mutating func answered() { self = ServiceHealth() }

  /// Records that the service failed or was late.
  mutating func failed(at now: Int64) {
    failures += 1
    guard failures >= Self.maxFailures else { return }
    pausedUntil = now + min(Self.pause << min(failures - Self.maxFailures, 8), Self.maxPause)
  }
}
