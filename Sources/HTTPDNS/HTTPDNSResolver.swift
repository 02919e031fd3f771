import System

/// Asks a service over HTTP and the system, remembers what they said and how connections went, and gives way to the system
/// wherever it knows nothing better.
public final class HTTPDNSResolver: Resolver {
  let settings: HTTPDNSSettings
  /// Milliseconds that go on whatever becomes of the time of day.
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
    /// Those of them that the service is known to be late with.
    var late: Set<Question> = []
    /// Counts the networks that the device had: what was asked on another one isn't kept.
    var network = 0
    /// When it was last looked for where the service is.
    var refreshed: Int64?
  }

  /// A lookup that is under way; others who want to know the same wait for it.
  struct Question: Hashable, Sendable {
    let host: HostName
    let source: LookupPlan.Source
    let network: Int
  }

  typealias Waiter = Monitor<LookupPlan.Outcomes>

  /// Reads what was kept.
  ///
  /// - Parameters:
  ///   - settings: which service is asked, when, and where answers are kept.
  ///   - exchange: how questions reach the service.
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

  /// Whether hosts are left to the system, as the policy may say.
  public var isOff: Bool {
    get { state.withLock { $0.isOff } }
    set { state.withLock { $0.isOff = newValue } }
  }

  /// The device has another network: answers are asked for anew, also by who waits for one right now, and nothing is known of
  /// any address.
  public func networkChanged() {
    // Before anybody asks anew.
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

  /// Whether the device has the network still that an answer was given on.
  public func isCurrent(_ resolution: Resolution) -> Bool {
    state.withLock { $0.network == resolution.network }
  }

  /// Where `host` is, as the order of the settings has it.
  public func resolve(_ host: String) -> Resolution? { resolve(host, isCancelled: { false }) }

  /// The same, unless somebody has enough of waiting.
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

  /// A connection to an address stood after so many milliseconds.
  public func connected(to address: IPAddress, of host: String, after milliseconds: Int) {
    guard let host = HostName(host) else { return }
    state.withLock { $0.health.connected(address, of: host, after: milliseconds) }
  }

  /// An address is avoided for a minute, and longer the more often it fails.
  public func failed(_ address: IPAddress, of host: String) {
    guard let host = HostName(host) else { return }
    let now = now()
    state.withLock { $0.health.failed(address, of: host, at: now) }
  }

  /// Writes what is held, behind everybody's back; a file that can't be written costs the next start a lookup.
  func save() {
    guard let path = settings.file else { return }
    file.withLock { _ in
      let cache = state.withLock { $0.cache }
      try? DurableFile.write(cache.saved(at: now(), unix: unix()), to: path)
    }
  }
}
