import DeviceTestSupport
import SocketServer
import System
import Testing

@testable import HTTPDNS

/// What was learned on one network isn't used on the next one.
@Suite struct NetworkChangeTests {
  /// Answers each query when the test does, with an answer of its own.
  private final class SlowNames: NameSource {
    private struct State {
      var asked = 0
      var answers: [Int: String] = [:]
      var isOver = false
    }

    private let state = Monitor(State())

    let batch = 5

    // Queries that still wait end.
    deinit { state.broadcasting { $0.isOver = true } }

    func wait(forQuestions count: Int) { state.waiting { $0.asked >= count ? () : nil } }
    var asked: Int { state.withLock { $0.asked } }
    func answer(_ question: Int, _ address: String) { state.broadcasting { $0.answers[question] = address } }
    func end() { state.broadcasting { $0.isOver = true } }

    func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer {
      let number = state.broadcasting { state in
        state.asked += 1
        return state.asked
      }
      let address = state.waiting { state in state.answers[number] ?? (state.isOver ? "" : nil) }
      guard let answer = LookupAnswer([IPAddress(address)].compactMap { $0 }, seconds: 600) else {
        throw .noAddress
      }
      return answer
    }

    func lookUp(_ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer] {
      let answer = try lookUp(hosts[0])
      return Dictionary(uniqueKeysWithValues: hosts.map { ($0, answer) })
    }
  }

  private func resolver(_ service: any NameSource, system: [String: [String]] = [:]) -> HTTPDNSResolver {
    var settings = HTTPDNSSettings(nil)
    settings.headStart = 60_000
    settings.timeout = 60_000
    return HTTPDNSResolver(
      settings, system: FakeNames(system), service: service, now: Clock.continuousMilliseconds)
  }

  /// A lookup that waits when the network changes gets an answer of the new network; the old network's answer, which
  /// comes later, isn't cached.
  @Test func lateAnswersAreNotCached() throws {
    let names = SlowNames()
    defer { names.end() }
    let resolver = resolver(names)
    let found = Locked<Resolution?>(nil)
    let thread = try OSThread(name: "asks") {
      let resolution = resolver.resolve("m.test")
      found.withLock { $0 = resolution }
    }
    names.wait(forQuestions: 1)
    resolver.networkChanged()
    names.wait(forQuestions: 2)
    names.answer(2, "192.0.2.2")
    thread.join()
    #expect(found.withLock { $0?.addresses.map(\.text) } == ["192.0.2.2"])
    names.answer(1, "192.0.2.1")
    while resolver.state.withLock({ !$0.running.isEmpty }) { Clock.sleep(for: .milliseconds(2)) }
    let held = resolver.resolve("m.test")
    #expect(held?.addresses.map(\.text) == ["192.0.2.2"] && held?.source == .cache)
  }

  /// A lookup can be cancelled while its query is under way.
  @Test func cancelledLookupsEnd() throws {
    let names = SlowNames()
    defer { names.end() }
    let resolver = resolver(names)
    let isGone = Locked(false)
    let outcome = Monitor<Resolution??>(nil)
    let thread = try OSThread(name: "asks") {
      let found = resolver.resolve("m.test") { isGone.withLock { $0 } }
      outcome.broadcasting { $0 = .some(found) }
    }
    names.wait(forQuestions: 1)
    isGone.withLock { $0 = true }
    // Otherwise it takes a minute.
    let found = outcome.waiting(for: .seconds(30)) { $0 }
    #expect(found == .some(nil))
    names.end()
    thread.join()
  }

  /// Also if nobody waits for a new answer, and for failures.
  @Test(arguments: ["192.0.2.1", ""]) func lateAnswersAndFailuresAreIgnored(late: String) throws {
    let names = SlowNames()
    defer { names.end() }
    let resolver = resolver(names)
    let question = HTTPDNSResolver.Question(host: .of("m.test"), source: .service, network: 0)
    let thread = try OSThread(name: "asks") { _ = resolver.resolve("m.test") }
    names.wait(forQuestions: 1)
    resolver.networkChanged()
    resolver.isOff = true
    names.answer(1, late)
    while resolver.state.withLock({ $0.running[question] != nil }) { Clock.sleep(for: .milliseconds(2)) }
    names.end()
    thread.join()
    resolver.isOff = false
    let (fresh, absent) = resolver.state.withLock {
      (
        $0.cache.fresh(.of("m.test"), at: Clock.continuousMilliseconds()),
        $0.cache.isAbsent(.of("m.test"), at: Clock.continuousMilliseconds())
      )
    }
    // The second query's answer, that there is no such host, is the new network's.
    #expect(fresh == nil && absent == (names.asked == 2))
  }

  @Test func hostsResolvedAheadBelongToTheirNetwork() throws {
    let names = SlowNames()
    defer { names.end() }
    let resolver = resolver(names)
    // Twelve hosts make three queries; the network changes during the first.
    resolver.prepare((0..<12).map { "h\($0).test" })
    names.wait(forQuestions: 1)
    resolver.networkChanged()
    names.answer(1, "192.0.2.1")
    names.answer(2, "192.0.2.2")
    #expect(resolver.resolve("h0.test")?.addresses.map(\.text) == ["192.0.2.2"])
    #expect(names.asked == 2)
  }

  /// Lookups that hang on the last network don't count against the limit on this one.
  @Test func hangingLookupsOfTheLastNetworkDoNotBlock() {
    let names = FakeNames()
    var settings = HTTPDNSSettings(nil)
    settings.timeout = 10
    let resolver = HTTPDNSResolver(settings, system: names, service: nil, now: Clock.continuousMilliseconds)
    names.isHanging = true
    defer { names.isHanging = false }
    for number in 0..<20 { #expect(resolver.resolve("h\(number).test") == nil) }
    names.wait(forQuestions: 16)
    resolver.networkChanged()
    #expect(resolver.resolve("other.test") == nil)
    names.wait(forQuestions: 17)
    // There is a limit for all networks together.
    for number in 0..<200 {
      if number % 10 == 0 { resolver.networkChanged() }
      #expect(resolver.resolve("i\(number).test") == nil)
    }
    names.wait(forQuestions: 64)
    #expect(names.asked.count == 64)
  }

  /// Notes where it is asked, and gives the list of the service.
  private final class Exchange: ServiceExchange {
    let addresses = Locked<[String]>([])
    let changes = Locked(0)

    func networkChanged() { changes.withLock { $0 += 1 } }

    func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8] {
      addresses.withLock { $0.append(request.address?.text ?? "-") }
      return Array(#"{"service_ip":["192.0.2.77"],"host":"m.test","ips":["192.0.2.1"]}"#.utf8)
    }
  }

  /// Connections to the service are closed, too.
  @Test(arguments: [
    HTTPDNSSettings.Service.vendor(url: "https://dns.test/1"),
    .dnsOverHTTPS(url: "https://dns.test/dns-query"),
  ])
  func networkChangesReachTheExchange(service: HTTPDNSSettings.Service) throws {
    let exchange = Exchange()
    let resolver = try HTTPDNSResolver(HTTPDNSSettings(service), exchange: exchange)
    resolver.networkChanged()
    #expect(exchange.changes.withLock { $0 } == 1)
  }

  @Test(arguments: [false, true]) func aLateListOfTheServiceIsNotTaken(isCurrent: Bool) throws {
    let exchange = Exchange()
    var settings = HTTPDNSSettings(.vendor(url: "https://dns.test/1", list: "ss"), bootstrap: ["192.0.2.9"])
    settings.timeout = 60_000
    let service = try #require(try settings.source(exchange, now: Clock.unixMilliseconds))
    service.refresh { isCurrent }
    _ = try service.lookUp(HostName.of("m.test"))
    #expect(exchange.addresses.withLock { $0 } == ["192.0.2.9", isCurrent ? "192.0.2.77" : "192.0.2.9"])
  }
}
