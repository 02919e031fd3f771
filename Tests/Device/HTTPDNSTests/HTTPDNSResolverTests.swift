import DeviceLinux
import DeviceTestSupport
import System
import Testing
import TestSupport

@testable import HTTPDNS

@Suite struct HTTPDNSResolverTests {
  let clock = FakeClock()
  let system = FakeNames(["m.test": ["192.0.2.10"]])
  let service = FakeNames(["m.test": ["192.0.2.1", "192.0.2.2"]])

  private func resolver(
    _ order: HTTPDNSSettings.Order = .serviceFirst, file: String? = nil, headStart: Int = 60_000
  ) -> HTTPDNSResolver {
    var settings = HTTPDNSSettings(nil, order: order, file: file)
    settings.headStart = headStart
    settings.timeout = 60_000
    return HTTPDNSResolver(settings, system: system, service: service, now: clock.now)
  }

  private func found(_ resolver: HTTPDNSResolver, _ host: String = "m.test") -> String {
    guard let found = resolver.resolve(host) else { return "-" }
    return ([found.source.rawValue] + found.addresses.map(\.text)).joined(separator: " ")
  }

  @Test func answersAreCachedForTheirTTL() {
    let resolver = resolver()
    #expect(found(resolver) == "service 192.0.2.1 192.0.2.2")
    #expect(found(resolver) == "cache 192.0.2.1 192.0.2.2")
    clock.advance(seconds: 60)
    #expect(found(resolver) == "service 192.0.2.1 192.0.2.2")
    #expect(service.asked.count == 2 && system.asked.isEmpty)
  }

  @Test func cachedAnswersSurviveARestart() throws {
    let folder = try Scratch()
    let file = "\(folder.path)/names.json"
    #expect(found(resolver(file: file)) == "service 192.0.2.1 192.0.2.2")
    // It is written after the answer was returned.
    while (try DurableFile.read(file)) == nil { Clock.sleep(for: .milliseconds(5)) }
    #expect(found(resolver(file: file)) == "cache 192.0.2.1 192.0.2.2")
    #expect(service.asked.count == 1)
  }

  /// The wall clock may be set while the process runs.
  @Test(arguments: [-1, 1] as [Int64]) func changesOfTheWallClockDoNotMatter(direction: Int64) {
    let unix = FakeClock()
    var settings = HTTPDNSSettings(nil)
    settings.headStart = 60_000
    settings.timeout = 60_000
    let resolver = HTTPDNSResolver(
      settings, system: system, service: service, now: clock.now, unix: unix.now)
    _ = found(resolver)
    service.say(["m.test": ["192.0.2.5"]])
    unix.advance(seconds: direction * 400 * 86_400)
    clock.advance(seconds: 59)
    #expect(found(resolver) == "cache 192.0.2.1 192.0.2.2")
    clock.advance(seconds: 1)
    #expect(found(resolver) == "service 192.0.2.5")
  }

  /// An app's resolver uses a clock that can't be set.
  @Test func usesTheContinuousClock() throws {
    let resolver = try HTTPDNSResolver(HTTPDNSSettings(nil), exchange: CurlServiceExchange())
    let start = Clock.continuousMilliseconds()
    let now = resolver.now()
    #expect(start <= now && now <= Clock.continuousMilliseconds())
  }

  @Test func staleAnswersAreUsedForAnHourWithoutTheService() {
    let resolver = resolver()
    _ = found(resolver)
    service.fail(.timedOut, "m.test")
    clock.advance(seconds: 3_600)
    #expect(found(resolver) == "stale 192.0.2.1 192.0.2.2")
    clock.advance(seconds: 60)
    #expect(found(resolver) == "system 192.0.2.10")
  }

  @Test func failingServicesAreNotAsked() {
    let resolver = resolver()
    service.fail(.unreachable("no way"), "m.test")
    for _ in 0..<5 { #expect(found(resolver) == "system 192.0.2.10") }
    #expect(service.asked.count == 2)
    clock.advance(seconds: 31)
    service.say(["m.test": ["192.0.2.1"]])
    #expect(found(resolver) == "service 192.0.2.1")
  }

  /// That a host doesn't exist is an answer of the service, which is cached for a short time.
  @Test func absentHostsAreAskedForLater() {
    let resolver = resolver()
    service.fail(.noAddress, "m.test")
    for _ in 1...4 { #expect(found(resolver) == "system 192.0.2.10") }
    #expect(service.asked.count == 1)
    // The service isn't down: other hosts are asked for.
    #expect(found(resolver, "n.test") == "-" && service.asked.count == 2)
    clock.advance(seconds: 29)
    _ = found(resolver)
    #expect(service.asked.count == 2)
    service.say(["m.test": ["192.0.2.1"]])
    clock.advance(seconds: 1)
    #expect(found(resolver) == "service 192.0.2.1")
    // On another network the host may exist.
    service.fail(.noAddress, "o.test")
    #expect(found(resolver, "o.test") == "-")
    service.say(["o.test": ["192.0.2.5"]])
    resolver.networkChanged()
    #expect(found(resolver, "o.test") == "service 192.0.2.5")
  }

  @Test func hangingServicesAreNotAsked() {
    let clock = Clock.continuousMilliseconds
    var settings = HTTPDNSSettings(nil)
    settings.headStart = 20
    settings.timeout = 60_000
    let resolver = HTTPDNSResolver(settings, system: system, service: service, now: clock)
    service.isHanging = true
    defer { service.isHanging = false }
    // The second lookup waits for the first one's query.
    for _ in 0..<2 { #expect(found(resolver) == "system 192.0.2.10") }
    for host in ["n.test", "o.test", "p.test"] { #expect(found(resolver, host) == "-") }
    #expect(service.asked == ["m.test", "n.test"])
  }

  /// A query that is late and then fails counts as one failure.
  @Test func queriesFailOnce() {
    var settings = HTTPDNSSettings(nil)
    settings.headStart = 20
    settings.timeout = 60_000
    let resolver = HTTPDNSResolver(
      settings, system: system, service: service, now: Clock.continuousMilliseconds)
    defer { service.isHanging = false }
    service.fail(.timedOut, "m.test")
    for isDown in [false, true] {
      service.isHanging = true
      #expect(found(resolver) == "system 192.0.2.10")
      service.isHanging = false
      while resolver.state.withLock({ !$0.running.isEmpty }) { Clock.sleep(for: .milliseconds(2)) }
      #expect(resolver.state.withLock { $0.service.isDown(at: 1) } == isDown)
    }
  }

  @Test func hangingSystemResolversOnlyCostTheirHeadStart() {
    var settings = HTTPDNSSettings(nil, order: .systemFirst)
    settings.headStart = 20
    settings.timeout = 60_000
    let resolver = HTTPDNSResolver(
      settings, system: system, service: service, now: Clock.continuousMilliseconds)
    system.isHanging = true
    defer { system.isHanging = false }
    #expect(found(resolver) == "service 192.0.2.1 192.0.2.2")
    #expect(found(resolver) == "cache 192.0.2.1 192.0.2.2")
  }

  @Test func hostsStayUnresolvedIfAllSourcesHang() {
    var settings = HTTPDNSSettings(nil, order: .race)
    settings.timeout = 30
    let resolver = HTTPDNSResolver(
      settings, system: system, service: service, now: Clock.continuousMilliseconds)
    system.isHanging = true
    service.isHanging = true
    defer {
      system.isHanging = false
      service.isHanging = false
    }
    #expect(found(resolver) == "-")
    #expect(system.asked.count == 1 && service.asked.count == 1)
  }

  @Test func hangingLookupsAreLimited() {
    var settings = HTTPDNSSettings(nil)
    settings.timeout = 10
    let resolver = HTTPDNSResolver(settings, system: system, service: nil, now: Clock.continuousMilliseconds)
    system.isHanging = true
    defer { system.isHanging = false }
    for number in 0..<40 { #expect(found(resolver, "h\(number).test") == "-") }
    system.wait(forQuestions: 16)
    #expect(system.asked.count == 16)
  }

  @Test func concurrentLookupsOfAHostShareAQuery() {
    let resolver = resolver()
    service.isHanging = true
    let answers = Locked<[String]>([])
    let threads = (0..<20).compactMap { _ in
      try? OSThread(name: "asks") {
        let found = self.found(resolver)
        answers.withLock { $0.append(found) }
      }
    }
    let question = HTTPDNSResolver.Question(host: .of("m.test"), source: .service, network: 0)
    while resolver.state.withLock({ $0.running[question]?.count ?? 0 }) < 20 {
      Clock.sleep(for: .milliseconds(2))
    }
    service.isHanging = false
    for thread in threads { thread.join() }
    #expect(Set(answers.withLock { $0 }) == ["service 192.0.2.1 192.0.2.2"] && service.asked.count == 1)
  }

  @Test func nothingIsResolvedWhileOff() {
    let resolver = resolver()
    resolver.isOff = true
    resolver.prepare(["m.test"])
    #expect(found(resolver) == "-")
    resolver.isOff = false
    #expect(found(resolver, "192.0.2.7") == "-" && found(resolver, "[::1]") == "-")
    #expect(service.asked.isEmpty && system.asked.isEmpty)
    #expect(found(resolver, "M.TEST") == "service 192.0.2.1 192.0.2.2")
  }

  @Test func failedAddressesAreReplaced() throws {
    let resolver = resolver()
    _ = found(resolver)
    let (first, second) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
    resolver.failed(first, of: "m.test")
    #expect(found(resolver) == "cache 192.0.2.2")
    resolver.failed(second, of: "m.test")
    // The service gives the same addresses again, so the system is asked.
    #expect(found(resolver) == "system 192.0.2.10")
    #expect(service.asked.count == 2)
    clock.advance(seconds: 60)
    #expect(found(resolver) == "service 192.0.2.1 192.0.2.2")
    resolver.connected(to: second, of: "m.test", after: 12)
    #expect(found(resolver) == "cache 192.0.2.2 192.0.2.1")
  }

  @Test func hostsAreResolvedAhead() {
    let hosts = (0..<12).map { "h\($0).test" }
    let service = FakeNames(
      Dictionary(uniqueKeysWithValues: hosts.map { ($0, ["192.0.2.1"]) }), batch: 5)
    let resolver = HTTPDNSResolver(HTTPDNSSettings(nil), system: system, service: service, now: clock.now)
    resolver.prepare(hosts + ["192.0.2.1", "no host"])
    service.wait(forQuestions: 3)
    while resolver.state.withLock({ $0.cache.fresh(.of("h9.test"), at: self.clock.now()) }) == nil {
      Clock.sleep(for: .milliseconds(2))
    }
    for host in hosts { #expect(found(resolver, host) == "cache 192.0.2.1") }
    #expect(service.asked.map { $0.split(separator: ",").count } == [5, 5, 2])
  }

  @Test func networkChangesClearTheCache() throws {
    let resolver = resolver()
    _ = found(resolver)
    resolver.failed(try #require(IPAddress("192.0.2.1")), of: "m.test")
    service.say(["m.test": ["192.0.2.1", "192.0.2.3"]])
    resolver.networkChanged()
    #expect(found(resolver) == "service 192.0.2.1 192.0.2.3")
  }
}
