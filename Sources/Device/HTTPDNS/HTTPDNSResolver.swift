import System

/// Asks a service over HTTP and the system, remembers their answers and how connections went, and falls back to the system
/// whenever it knows nothing better.
public final class HTTPDNSResolver: Resolver {
  let settings: HTTPDNSSettings
  /// Milliseconds of a clock that isn't affected by changes of the time of day.
  let now: @Sendable () -> Int64
  /// Milliseconds since 1970, for the file.
  private let unix: @Sendable () -> Int64
  let sources: [LookupPlan.Source: any NameSource]
  let state: Locked<State>
  /// Held while the file is written.
  private let file = Locked(())

  struct State {
    var isOff = false
    var cache: AddressCache
    var health = AddressHealth()
    var service = ServiceHealth()
    var running: [Question: [Waiter]] = [:]
    /// The running lookups for which the service is known to be late.
    var late: Set<Question> = []
    /// Counts the networks that the device has used: answers from an earlier one aren't kept.
    var network = 0
    /// When the service's own addresses were last refreshed.
    var refreshed: Int64?
  }

  /// A running lookup; callers that want the same result wait for it.
  struct Question: Hashable, Sendable {
    let host: HostName
    let source: LookupPlan.Source
    let network: Int
  }

  typealias Waiter = Monitor<LookupPlan.Outcomes>

  /// Creates a resolver and restores the saved answers.
  ///
  /// - Parameters:
  ///   - settings: which service to ask, when, and where to keep answers.
  ///   - exchange: sends queries to the service.
  /// - Throws: `HTTPDNSError`.
  public convenience init(
    _ settings: HTTPDNSSettings, exchange: any ServiceExchange
  ) throws(HTTPDNSError) {
    let service = try settings.source(exchange, now: Clock.unixMilliseconds)
    self.init(settings, system: SystemNames(), service: service, now: Clock.continuousMilliseconds)
  }

  init(
    _ settings: HTTPDNSSettings, system: any NameSource, service: (any NameSource)?,
    now: @escaping @Sendable () -> Int64, unix: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds
  ) {
    self.settings = settings
    self.now = now
    self.unix = unix
    var sources: [LookupPlan.Source: any NameSource] = [.system: system]
    sources[.service] = service
    self.sources = sources
    let saved = settings.file.flatMap { try? DurableFile.read($0, limit: 1 << 20) }
    state = Locked(State(cache: AddressCache(saved: saved ?? nil, at: now(), unix: unix())))
  }

  /// Whether all hosts are left to the system, for example by policy.
  public var isOff: Bool {
    get { state.withLock { $0.isOff } }
    set { state.withLock { $0.isOff = newValue } }
  }

  /// Tells the resolver that the device changed networks: answers are fetched again, also for callers that are waiting now,
  /// and the health of addresses is forgotten.
  public func networkChanged() {
    // Before anyone asks again.
    sources[.service]?.networkChanged()
    let now = now()
    let waiting = state.withLock { state in
      state.network += 1
      state.cache.expire(at: now)
      state.health.forget()
      state.service = ServiceHealth()
      state.refreshed = nil
      state.late = []
      return state.running
    }
    for (question, waiters) in waiting {
      for waiter in waiters { waiter.broadcasting { $0[question.source] = .failure(.busy) } }
    }
    if !isOff { refreshService() }
  }

  /// Whether the device is still on the network that a resolution was made on.
  public func isCurrent(_ resolution: Resolution) -> Bool {
    state.withLock { $0.network == resolution.network }
  }

  /// Returns the addresses of `host`, asking the sources in the order of the settings.
  public func resolve(_ host: String) -> Resolution? { resolve(host, isCancelled: { false }) }

  /// The same, but stops waiting when `isCancelled` returns true.
  public func resolve(_ host: String, isCancelled: () -> Bool) -> Resolution? {
    guard !isOff, let host = HostName(host) else { return nil }
    let start = now()
    let (held, network) = state.withLock { state -> ([IPAddress], Int) in
      guard let answer = state.cache.fresh(host, at: start) else { return ([], state.network) }
      return (state.health.ordered(answer.addresses, of: host, at: start), state.network)
    }
    if !held.isEmpty { return resolution(held, .cache, network) }
    refreshService()
    return lookUp(host, from: start, isCancelled)
  }

  func resolution(_ addresses: [IPAddress], _ source: Resolution.Source, _ network: Int) -> Resolution {
    var resolution = Resolution(addresses, from: source)
    resolution.network = network
    return resolution
  }

  /// Records that a connection to an address was established after `milliseconds`.
  public func connected(to address: IPAddress, of host: String, after milliseconds: Int) {
    guard let host = HostName(host) else { return }
    state.withLock { $0.health.connected(address, of: host, after: milliseconds) }
  }

  /// Records a failed connection: the address is avoided for a minute, and longer with each further failure.
  public func failed(_ address: IPAddress, of host: String) {
    guard let host = HostName(host) else { return }
    let now = now()
    state.withLock { $0.health.failed(address, of: host, at: now) }
  }

  /// Saves the answers on the calling thread; a file that can't be written only costs the next start a lookup.
  func save() {
    guard let path = settings.file else { return }
    file.withLock { _ in
      let cache = state.withLock { $0.cache }
      try? DurableFile.write(cache.saved(at: now(), unix: unix()), to: path)
    }
  }
}
