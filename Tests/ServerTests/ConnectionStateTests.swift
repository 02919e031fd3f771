import HTTP
import Server
import Testing

/// The connection's rules on a clock that the test moves.
@Suite struct ConnectionStateTests {
  private static let second = Timeouts.second
  private let timeouts = Timeouts()

  private func head(_ text: String) -> RequestHead {
    var parser = RequestParser()
    let bytes = [UInt8]((text + "Host: h\r\n\r\n").utf8)
    _ = parser.parse(bytes.span.bytes, limits: RequestLimits())
    return parser.head
  }

  @Test func idleIsClosedSilently() {
    let state = ConnectionState(now: 5, timeouts: timeouts)
    #expect(state.expiry(5 + timeouts.idle - 1) == .none)
    #expect(state.expiry(5 + timeouts.idle) == .leave)
  }

  @Test func aHeadsTimeRunsFromItsFirstByte() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.waitForHead(10 * Self.second, timeouts)
    state.waitForHead(20 * Self.second, timeouts)
    #expect(state.expiry(25 * Self.second - 1) == .none)
    #expect(state.expiry(25 * Self.second) == .answer408)
  }

  @Test func theNextHeadHasItsOwnTime() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.waitForHead(0, timeouts)
    state.begin(keepAlive: true, limit: 10, draining: false)
    state.waitForHead(14 * Self.second, timeouts)
    #expect(state.deadline == 29 * Self.second)
  }

  @Test func aBodyMustKeepItsRate() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.waitForBody(0, timeouts)
    #expect(state.deadline == timeouts.body)
    // 256 bytes are one more second; nothing is saved beyond the limit of standing still.
    state.bodyArrived(256, 10 * Self.second, timeouts)
    #expect(state.deadline == 31 * Self.second)
    state.bodyArrived(1 << 40, 20 * Self.second, timeouts)
    #expect(state.deadline == 50 * Self.second)
    state.bodyArrived(.max, 49 * Self.second, timeouts)
    #expect(state.deadline == 79 * Self.second)
    #expect(state.expiry(79 * Self.second) == .answer408)
  }

  @Test func aDripBelowTheRateEnds() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.waitForBody(0, timeouts)
    var now: UInt64 = 0
    while state.expiry(now) == .none, now < 1000 * Self.second {
      now += Self.second
      state.bodyArrived(128, now, timeouts)
    }
    #expect(now == 60 * Self.second)
  }

  @Test func aReaderIsLookedAtTwice() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.waitForWriting(0, timeouts)
    #expect(state.expiry(60 * Self.second) == .checkProgress)
    state.progressed(2_560, 60 * Self.second, timeouts)
    #expect(state.expiry(60 * Self.second, checked: true) == .none)
    #expect(state.deadline == 70 * Self.second)
    state.progressed(2_560, 70 * Self.second, timeouts)
    #expect(state.expiry(70 * Self.second, checked: true) == .close)
  }

  @Test func aWorkersTimeIsNotTheClients() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.wait()
    #expect(state.expiry(.max - 1) == .none)
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\n", false), ("GET / HTTP/1.1\r\nConnection: close\r\n", true),
    ("GET / HTTP/1.0\r\n", true),
    ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n", false),
  ])
  func whoCloses(_ request: String, _ closes: Bool) {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    state.begin(keepAlive: head(request).keepAlive, limit: 10, draining: false)
    #expect(state.closesAfterAnswers == closes)
  }

  @Test func theLastRequestAndADrainClose() {
    var state = ConnectionState(now: 0, timeouts: timeouts)
    for _ in 0..<9 { state.begin(keepAlive: true, limit: 10, draining: false) }
    #expect(!state.closesAfterAnswers)
    state.begin(keepAlive: true, limit: 10, draining: false)
    #expect(state.closesAfterAnswers)
    var draining = ConnectionState(now: 0, timeouts: timeouts)
    draining.begin(keepAlive: true, limit: 10, draining: true)
    #expect(draining.closesAfterAnswers && draining.announcement(isHTTP11: true) == .close)
  }
}
