import HTTPDNS
import System
import XCacheDevice

/// Connects to the addresses that a resolver returns, racing them as in RFC 8305, and finally to those of the system;
/// reports the outcome to the resolver.
package struct AddressDialer: Sendable {
  /// Makes a connection, TLS included, to an address, or if that is nil, to whatever address the system has for the host.
  /// Runs on a thread of its own, and has to return soon after the attempt is ended.
  package typealias Connect =
    @Sendable (IPAddress?, ConnectionAttempt) throws(TransportError) -> any ProxyStream

  private let resolver: (any Resolver)?
  private let milliseconds: Int
  private let addressMilliseconds: Int
  private let raceDelay: UInt64

  /// - Parameters:
  ///   - resolver: resolves host names; if nil, the system does.
  ///   - connectSeconds: the time within which a connection has to be established.
  ///   - addressMilliseconds: the same for one of the resolver's addresses.
  ///   - raceMilliseconds: the delay between two attempts while none has failed; if nil, the one that RFC 8305 recommends.
  package init(
    _ resolver: (any Resolver)?, connectSeconds: Int = 10, addressMilliseconds: Int = AddressDialer.timeout,
    raceMilliseconds: Int? = nil
  ) {
    self.resolver = resolver
    raceDelay = raceMilliseconds.map { UInt64(max($0, 1)) * 1_000_000 } ?? ConnectionRace.delay
    milliseconds = min(max(connectSeconds, 1), 3600) * 1000
    self.addressMilliseconds = min(milliseconds, addressMilliseconds)
  }

  /// How many times the resolver is asked: its first addresses may be stale or wrong.
  package static let attempts = 2
  /// Milliseconds within which a connection to one of the resolver's addresses has to be established. The system's
  /// addresses get the full time.
  package static let timeout = 4_000
  /// Milliseconds after which a waiting thread checks whether to go on.
  private static let checkInterval = 500

  /// Connects to a host.
  ///
  /// - Parameters:
  ///   - host: the host, without brackets.
  ///   - system: returns the system's addresses of the host, best first; it may hang for any length of time.
  ///   - isCancelled: called about twice a second, on this thread.
  ///   - connect: makes the connection to one address.
  /// - Throws: the error of the attempt that failed last; `.stopped` if it was cancelled.
  package func dial(
    _ host: String, system: @escaping @Sendable () -> [IPAddress?], isCancelled: () -> Bool = { false },
    by connect: @escaping Connect
  ) throws(TransportError) -> any ProxyStream {
    if let resolver {
      for _ in 0..<Self.attempts {
        let found = resolver.resolve(host, isCancelled: isCancelled)
        if isCancelled() { throw Self.stopped }
        guard let resolution = found else { break }
        do throws(TransportError) {
          return try race(
            resolution.addresses, of: host, within: addressMilliseconds, isCancelled, connect
          ) { address, time in
            guard let address, resolver.isCurrent(resolution) else { return }
            if let time {
              resolver.connected(to: address, of: host, after: time)
            } else {
              resolver.failed(address, of: host)
            }
          }
        } catch {
          guard error.kind != .stopped else { throw error }
        }
      }
    }
    let addresses = try lookUp(host, system, isCancelled)
    return try race(addresses, of: host, within: milliseconds, isCancelled, connect) { _, _ in }
  }

  /// Asks the system on a separate thread, which can be left behind if it hangs.
  private func lookUp(
    _ host: String, _ system: @escaping @Sendable () -> [IPAddress?], _ isCancelled: () -> Bool
  ) throws(TransportError) -> [IPAddress?] {
    let answer = Monitor<[IPAddress?]?>(nil)
    let run: @Sendable () -> Void = {
      let addresses = system()
      answer.broadcasting { $0 = addresses }
    }
    guard (try? OSThread(name: "name lookup", run)) != nil else { throw Self.noThread }
    let end = Clock.monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    while true {
      if isCancelled() { throw Self.stopped }
      if let addresses = answer.waiting(for: .milliseconds(Self.checkInterval), { $0 }) { return addresses }
      guard Clock.monotonicNanoseconds() < end else {
        throw TransportError(.timedOut, "\(host): the system takes too long to look it up")
      }
    }
  }

  // MARK: - The race

  private struct Outcome: Sendable {
    let index: Int
    let result: Result<any ProxyStream, TransportError>
    let milliseconds: Int
  }

  private struct Finish {
    var outcomes: [Outcome] = []
    /// If set, connections established later are closed.
    var isOver = false
  }

  /// `record` is called for each address that failed, and for the one that won, with the milliseconds that it took.
  private func race(
    _ addresses: [IPAddress?], of host: String, within milliseconds: Int, _ isCancelled: () -> Bool,
    _ connect: @escaping Connect, _ record: (_ address: IPAddress?, _ milliseconds: Int?) -> Void
  ) throws(TransportError) -> any ProxyStream {
    let finish = Monitor(Finish())
    var race = ConnectionRace(
      count: addresses.count, limit: UInt64(milliseconds) * 1_000_000, delay: raceDelay)
    var attempts: [Int: ConnectionAttempt] = [:]
    var failure = TransportError(.unreachable, "\(host): the system knows no address for it")
    defer {
      let late = finish.withLock { finish in
        finish.isOver = true
        defer { finish.outcomes = [] }
        return finish.outcomes
      }
      for outcome in late { try? outcome.result.get().close() }
      for attempt in attempts.values { attempt.end() }
    }
    while true {
      if isCancelled() { throw Self.stopped }
      while let outcome = finish.withLock({ $0.outcomes.isEmpty ? nil : $0.outcomes.removeFirst() }) {
        attempts[outcome.index] = nil
        switch outcome.result {
        case .success(let stream):
          record(addresses[outcome.index], outcome.milliseconds)
          return stream
        case .failure(let error):
          guard race.failed(outcome.index) else { continue }
          failure = error
          record(addresses[outcome.index], nil)
        }
      }
      let now = Clock.monotonicNanoseconds()
      switch race.step(at: now) {
      case .start(let index):
        let attempt = ConnectionAttempt(milliseconds: milliseconds)
        attempts[index] = attempt
        try Self.start(attempt, at: addresses[index], index, finish, connect)
      case .giveUp(let index):
        attempts.removeValue(forKey: index)?.end()
        failure = TransportError(.timedOut, "\(host): no connection within \(milliseconds) ms")
        record(addresses[index], nil)
      case .wait(let end):
        let left = Int(clamping: (end - min(now, end)) / 1_000_000 + 1)
        _ = finish.waiting(for: .milliseconds(min(left, Self.checkInterval))) {
          $0.outcomes.isEmpty ? nil : ()
        }
      case .over: throw failure
      }
    }
  }

  private static func start(
    _ attempt: ConnectionAttempt, at address: IPAddress?, _ index: Int, _ finish: Monitor<Finish>,
    _ connect: @escaping Connect
  ) throws(TransportError) {
    let run: @Sendable () -> Void = {
      let start = Clock.monotonicNanoseconds()
      let result = Result { () throws(TransportError) in try connect(address, attempt) }
      let time = Int((Clock.monotonicNanoseconds() - start) / 1_000_000)
      let isWanted = attempt.finish()
      let isTaken = finish.broadcasting { finish in
        guard isWanted, !finish.isOver else { return false }
        finish.outcomes.append(Outcome(index: index, result: result, milliseconds: time))
        return true
      }
      if !isTaken { try? result.get().close() }
    }
    guard (try? OSThread(name: "connection", run)) != nil else { throw noThread }
  }

  private static let stopped = TransportError(.stopped, "the caller ended it")
  private static let noThread = TransportError(.other, "the system has no thread left")
}
