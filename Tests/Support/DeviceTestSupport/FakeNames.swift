import System

@testable import HTTPDNS

/// A source of names that says what a test wants, when it wants.
package final class FakeNames: NameSource {
  private struct State {
    var answers: [String: Result<LookupAnswer, LookupError>] = [:]
    var isHanging = false
    var asked: [String] = []
  }

  package let batch: Int
  private let state = Monitor(State())

  package init(_ answers: [String: [String]] = [:], seconds: Int? = 60, batch: Int = 1) {
    self.batch = batch
    say(answers, seconds: seconds)
  }

  // What hangs is let go, so that no thread stays behind.
  deinit { state.broadcasting { $0.isHanging = false } }

  package func say(_ answers: [String: [String]], seconds: Int? = 60) {
    state.withLock { state in
      state.answers = answers.mapValues { texts in
        LookupAnswer(texts.compactMap { IPAddress($0) }, seconds: seconds).map { .success($0) }
          ?? .failure(.noAddress)
      }
    }
  }

  /// Every question fails.
  package func fail(_ error: LookupError, _ hosts: String...) {
    state.withLock { state in for host in hosts { state.answers[host] = .failure(error) } }
  }

  /// Whether questions get no answer for now.
  package var isHanging: Bool {
    get { state.withLock { $0.isHanging } }
    set { state.broadcasting { $0.isHanging = newValue } }
  }

  /// The hosts that were asked for, in order.
  package var asked: [String] { state.withLock { $0.asked } }

  /// Waits until so many questions came.
  package func wait(forQuestions count: Int) { state.waiting { $0.asked.count >= count ? () : nil } }

  package func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer {
    state.broadcasting { $0.asked.append(host.text) }
    return try state.waiting { state in
      state.isHanging ? nil : state.answers[host.text] ?? .failure(.noAddress)
    }.get()
  }

  package func lookUp(_ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer] {
    state.broadcasting { $0.asked.append(hosts.map(\.text).joined(separator: ",")) }
    var answers: [HostName: LookupAnswer] = [:]
    for host in hosts {
      answers[host] = try? state.withLock { $0.answers[host.text] }?.get()
    }
    return answers
  }
}

extension HTTPDNSResolver {
  /// One whose sources say these addresses, and wait for one another as long as it takes.
  package static func fake(system: [String: [String]], service: [String: [String]]) -> HTTPDNSResolver {
    var settings = HTTPDNSSettings(nil)
    settings.headStart = 60_000
    settings.timeout = 60_000
    return HTTPDNSResolver(
      settings, system: FakeNames(system), service: FakeNames(service), now: Clock.continuousMilliseconds)
  }
}

/// A clock that a test sets, in milliseconds.
package final class FakeClock: Sendable {
  private let value = Locked<Int64>(1_800_000_000_000)
  package init() {}
  package func advance(seconds: Int64) { value.withLock { $0 += seconds * 1000 } }
  package var now: @Sendable () -> Int64 { { self.value.withLock { $0 } } }
}

extension LookupAnswer {
  package static func of(_ texts: String..., seconds: Int? = 60) -> LookupAnswer {
    guard let answer = LookupAnswer(texts.compactMap { IPAddress($0) }, seconds: seconds) else {
      fatalError("no address in \(texts)")
    }
    return answer
  }
}

extension HostName {
  package static func of(_ text: String) -> HostName {
    guard let host = HostName(text) else { fatalError("\(text) is no host") }
    return host
  }
}
