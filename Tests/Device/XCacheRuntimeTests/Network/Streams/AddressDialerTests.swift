import DeviceTestSupport
import HTTPDNS
import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// When addresses are tried and abandoned (RFC 8305 §5), without a clock.
@Suite struct ConnectionRaceTests {
  private let second: UInt64 = 1_000_000_000

  private func moment(_ milliseconds: UInt64) -> UInt64 { 7_000_000_000 + milliseconds * 1_000_000 }

  @Test func nextAddressIsTriedAfter250Milliseconds() {
    var race = ConnectionRace(count: 3, limit: 4 * second)
    #expect(race.step(at: moment(0)) == .start(0))
    #expect(race.step(at: moment(0)) == .wait(until: moment(250)))
    #expect(race.step(at: moment(249)) == .wait(until: moment(250)))
    #expect(race.step(at: moment(260)) == .start(1))
    #expect(race.step(at: moment(260)) == .wait(until: moment(510)))
    #expect(race.step(at: moment(510)) == .start(2))
    // Next is the timeout of the first.
    #expect(race.step(at: moment(510)) == .wait(until: moment(4_000)))
  }

  @Test func nextAddressIsTriedAtOnceAfterAFailure() {
    var race = ConnectionRace(count: 3, limit: 4 * second)
    #expect(race.step(at: moment(0)) == .start(0) && race.step(at: moment(250)) == .start(1))
    let isNew = race.failed(1)
    #expect(isNew && race.step(at: moment(251)) == .start(2))
    #expect(race.step(at: moment(251)) == .wait(until: moment(4_000)))
    let again = race.failed(1)
    #expect(!again)
    race.failed(0)
    #expect(race.step(at: moment(300)) == .wait(until: moment(4_251)))
    race.failed(2)
    #expect(race.step(at: moment(300)) == .over)
  }

  @Test func slowAttemptsAreAbandoned() {
    var race = ConnectionRace(count: 2, limit: second / 10)
    #expect(race.step(at: moment(0)) == .start(0) && race.step(at: moment(0)) == .wait(until: moment(100)))
    #expect(race.step(at: moment(100)) == .giveUp(0) && race.step(at: moment(100)) == .start(1))
    #expect(race.step(at: moment(200)) == .giveUp(1) && race.step(at: moment(200)) == .over)
    let late = race.failed(1)
    #expect(!late)
  }

  @Test func racesWithoutAddressesAreOver() {
    var race = ConnectionRace(count: 0, limit: second)
    #expect(race.step(at: moment(0)) == .over)
  }
}

/// Connecting to one of a host's addresses.
@Suite struct AddressDialerTests {
  /// Gives the addresses, and records the outcomes.
  private final class RecordingResolver: Resolver {
    private let addresses: [String]
    private let notes = Locked<[String]>([])
    private let network = Locked(0)

    init(_ addresses: String...) { self.addresses = addresses }

    func changeNetwork() { network.withLock { $0 += 1 } }
    func isCurrent(_ resolution: Resolution) -> Bool { network.withLock { $0 } == 0 }

    var all: [String] { notes.withLock { $0 } }

    func resolve(_ host: String) -> Resolution? {
      let failed = all
      let left = addresses.filter { !failed.contains("failed \($0)") }.compactMap { IPAddress($0) }
      return left.isEmpty ? nil : Resolution(left, from: .service)
    }
    func connected(to address: IPAddress, of host: String, after milliseconds: Int) {
      notes.withLock { $0.append("connected \(address)") }
    }
    func failed(_ address: IPAddress, of host: String) { notes.withLock { $0.append("failed \(address)") } }
  }

  /// The attempts at each address.
  private final class Servers: Sendable {
    private let ended = Monitor<Set<String>>([])
    private let made = Monitor<[MemoryStream]>([])

    /// The server sides of the connections that were made.
    var connections: [MemoryStream] { made.withLock { $0 } }
    func waitUntilEnded(_ address: String) { ended.waiting { $0.contains(address) ? () : nil } }
    func waitForConnections(_ count: Int) { made.waiting { $0.count >= count ? () : nil } }

    /// Returns when the attempt is ended.
    func hang(_ address: IPAddress?, _ attempt: ConnectionAttempt) {
      let text = address?.text ?? "system"
      attempt.onEnd { [ended] in ended.broadcasting { _ = $0.insert(text) } }
      waitUntilEnded(text)
    }

    func connect() -> any ProxyStream {
      let (here, there) = MemoryStream.pair()
      made.broadcasting { $0.append(there) }
      return here
    }
  }

  private static let refused = TransportError(.unreachable, "refused")

  private func dial(
    _ dialer: AddressDialer, system: @escaping @Sendable () -> [IPAddress?] = { [] },
    isCancelled: @escaping @Sendable () -> Bool = { false }, by connect: @escaping AddressDialer.Connect
  ) async -> Result<any ProxyStream, TransportError> {
    await MemoryStream.onOwnThread {
      Result { () throws(TransportError) in
        try dialer.dial("m.test", system: system, isCancelled: isCancelled, by: connect)
      }
    }
  }

  private func dialer(_ resolver: RecordingResolver?) -> AddressDialer {
    AddressDialer(resolver, connectSeconds: 3_600, addressMilliseconds: 3_600_000)
  }

  @Test func firstConnectionWinsAndOthersAreEnded() async {
    let resolver = RecordingResolver("192.0.2.1", "192.0.2.2", "192.0.2.3")
    let servers = Servers()
    let outcome = await dial(dialer(resolver)) { address, attempt throws(TransportError) in
      if address?.text == "192.0.2.3" { return servers.connect() }
      servers.hang(address, attempt)
      throw Self.refused
    }
    #expect((try? outcome.get()) != nil)
    // Losing isn't a failure.
    #expect(resolver.all == ["connected 192.0.2.3"])
    await MemoryStream.onOwnThread {
      servers.waitUntilEnded("192.0.2.1")
      servers.waitUntilEnded("192.0.2.2")
    }
  }

  /// An attempt may connect after it was ended.
  @Test func lateConnectionsAreClosed() async {
    let servers = Servers()
    let outcome = await dial(dialer(RecordingResolver("192.0.2.1", "192.0.2.2"))) { address, attempt in
      if address?.text == "192.0.2.1" { servers.hang(address, attempt) }
      return servers.connect()
    }
    #expect((try? outcome.get()) != nil)
    await MemoryStream.onOwnThread {
      servers.waitForConnections(2)
      while !servers.connections[1].isGone { Clock.sleep(for: .milliseconds(1)) }
    }
    #expect(!servers.connections[0].isGone)
  }

  @Test func slowAddressesFail() async {
    let resolver = RecordingResolver("192.0.2.1")
    let servers = Servers()
    let dialer = AddressDialer(resolver, addressMilliseconds: 20)
    let outcome = await dial(dialer, system: { [nil] }) { address, attempt throws(TransportError) in
      guard address == nil else {
        servers.hang(address, attempt)
        throw Self.refused
      }
      return servers.connect()
    }
    #expect((try? outcome.get()) != nil && resolver.all == ["failed 192.0.2.1"])
  }

  /// The resolver's addresses are tried, then the system's; the last failure is thrown.
  @Test func systemIsTheLastResort() async {
    let resolver = RecordingResolver("192.0.2.1", "192.0.2.2")
    let tried = Locked<[String]>([])
    let outcome = await dial(dialer(resolver), system: { [nil] }) { address, _ throws(TransportError) in
      let count = tried.withLock { tried in
        tried.append(address?.text ?? "system")
        return tried.count
      }
      throw TransportError(.unreachable, "\(count)")
    }
    #expect(tried.withLock { $0 } == ["192.0.2.1", "192.0.2.2", "system"])
    #expect(resolver.all == ["failed 192.0.2.1", "failed 192.0.2.2"])
    guard case .failure(let error) = outcome else {
      Issue.record("nobody answers there")
      return
    }
    #expect(error.reason == "3" && error.kind == .unreachable)
  }

  @Test(arguments: [false, true]) func outcomesOnAnotherNetworkAreNotRecorded(fails: Bool) async {
    let resolver = RecordingResolver("192.0.2.1")
    let servers = Servers()
    let outcome = await dial(dialer(resolver), system: { [nil] }) { address, _ throws(TransportError) in
      resolver.changeNetwork()
      if fails, address != nil { throw Self.refused }
      return servers.connect()
    }
    #expect((try? outcome.get()) != nil && resolver.all == [])
  }

  @Test func unknownHostsAreUnreachable() async {
    let outcome = await dial(dialer(nil)) { _, _ throws(TransportError) in throw Self.refused }
    guard case .failure(let error) = outcome else {
      Issue.record("nobody answers there")
      return
    }
    #expect(error.kind == .unreachable && error.reason.contains("m.test"))
  }

  /// While attempts hang, and while the system's lookup hangs.
  @Test(arguments: [false, true]) func cancelledCallsReturn(isLookingUp: Bool) async {
    let servers = Servers()
    let begun = Locked(false)
    let goes = Monitor(false)
    let outcome = await dial(
      dialer(isLookingUp ? nil : RecordingResolver("192.0.2.1")),
      system: {
        begun.withLock { $0 = true }
        goes.waiting { $0 ? () : nil }
        return []
      }, isCancelled: { begun.withLock { $0 } }
    ) { address, attempt throws(TransportError) in
      begun.withLock { $0 = true }
      servers.hang(address, attempt)
      throw Self.refused
    }
    goes.broadcasting { $0 = true }
    guard case .failure(let error) = outcome else {
      Issue.record("nobody answers there")
      return
    }
    #expect(error.kind == .stopped)
    if !isLookingUp { await MemoryStream.onOwnThread { servers.waitUntilEnded("192.0.2.1") } }
  }

  /// A resolver that waits until the call is cancelled.
  private struct WaitingResolver: Resolver {
    let asked: Monitor<Bool>

    func resolve(_ host: String) -> Resolution? { nil }
    func connected(to address: IPAddress, of host: String, after milliseconds: Int) {}
    func failed(_ address: IPAddress, of host: String) {}

    func resolve(_ host: String, isCancelled: () -> Bool) -> Resolution? {
      asked.broadcasting { $0 = true }
      while !isCancelled() { Clock.sleep(for: .milliseconds(2)) }
      return nil
    }
  }

  /// After the call is cancelled, no lookup and no connection is made.
  @Test func callsCancelledDuringResolutionReturn() async throws {
    let resolver = WaitingResolver(asked: Monitor(false))
    let isGone = Locked(false)
    let outcome = Monitor<Result<Bool, TransportError>?>(nil)
    _ = try OSThread(name: "dials") {
      let result = Result { () throws(TransportError) -> Bool in
        _ = try AddressDialer(resolver).dial(
          "m.test", system: { [] }, isCancelled: { isGone.withLock { $0 } }
        ) { _, _ throws(TransportError) -> any ProxyStream in
          throw TransportError(.other, "connected")
        }
        return true
      }
      outcome.broadcasting { $0 = result }
    }
    while !resolver.asked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
    isGone.withLock { $0 = true }
    while outcome.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(2)) }
    #expect(throws: TransportError.self) { try outcome.withLock { $0 }?.get() }
    guard case .failure(let error)? = outcome.withLock({ $0 }) else { return }
    #expect(error.kind == .stopped)
  }
}
