import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private let hour: Int64 = 3_600_000
private let page = "https://m.test/p"

/// The servers' time as derived from their answers: policies end by it, not by the device's clock.
@Suite struct ServerClockTests {
  /// Readings: source, the server's time and the device's, in milliseconds since the first reading.
  private typealias Readings = [(source: PollPolicy.Source, server: Int64, own: Int64)]

  private static let start: Int64 = 1_800_000_000_000

  /// How far the device's clock is ahead according to these readings.
  private func ahead(_ readings: Readings) -> Int64 {
    var clock = ServerClock()
    for (source, server, own) in readings {
      clock.record(Self.start + server, from: source, at: Self.start + own)
      // Saved and read again after each.
      clock = ServerClock(saved: clock.saved(server: "x"), server: "x")
    }
    let own = Self.start + readings[readings.count - 1].own
    return own - clock.time(at: own)
  }

  private let first: Readings = [(.origin, -5 * hour, 0)]

  @Test func twoAdvancingDatesAreTrusted() {
    #expect(ahead(first) == 0)
    #expect(ahead(first + [(.origin, -5 * hour + 31_000, 31_000)]) == 5 * hour)
    #expect(ahead(first + [(.origin, -5 * hour + 40_000, 31_000)]) == 5 * hour - 9_000)
    #expect(ahead([(.mirror, 3 * hour, 0), (.mirror, 4 * hour, hour)]) == -3 * hour)
  }

  /// Cached; advanced too little or too much; too close together, too far apart; of two servers.
  @Test(
    arguments: [
      (PollPolicy.Source.origin, -5 * hour, 31_000), (.origin, -5 * hour + 20_000, 31_000),
      (.origin, -5 * hour + 42_000, 31_000), (.origin, -5 * hour + 19_000, 19_000),
      (.origin, -2 * hour + 61_000, 3 * hour + 61_000), (.mirror, -5 * hour + 31_000, 31_000),
    ] as [(PollPolicy.Source, Int64, Int64)])
  func otherPairsOfDatesAreNotTrusted(source: PollPolicy.Source, server: Int64, own: Int64) {
    #expect(ahead(first + [(source, server, own)]) == 0)
  }

  @Test func smallDifferencesAreIgnored() {
    #expect(ahead([(.origin, -2 * hour + 1, 0), (.origin, -2 * hour + 31_001, 31_000)]) == 0)
  }

  @Test func knownDifferenceStaysUntilItIsCorrected() {
    let known = first + [(.origin, -5 * hour + 31_000, 31_000)]
    // A cached date; another date, confirmed by the next; a clock that was set back.
    #expect(ahead(known + [(.origin, -5 * hour, 62_000)]) == 5 * hour)
    #expect(ahead(known + [(.origin, 62_000, 62_000)]) == 5 * hour)
    #expect(ahead(known + [(.origin, 62_000, 62_000), (.origin, 93_000, 93_000)]) == 0)
    #expect(ahead(known + [(.origin, 0, 0)]) == 0)
    var clock = ServerClock()
    for (source, server, own) in known {
      clock.record(Self.start + server, from: source, at: Self.start + own)
    }
    let times = [40_000, 0, 40_000].map { clock.time(at: Self.start + $0) - Self.start }
    #expect(times == [40_000 - 5 * hour, 0, 40_000])
  }

  @Test(arguments: ["", "{}", "[]", #"{"ahead":1e3,"own":1,"server":"x","source":"origin","time":1}"#])
  func invalidStateIsIgnored(text: String) {
    let clock = ServerClock(saved: bytes(text), server: "x")
    #expect(clock == ServerClock() && clock.saved(server: "x") == nil)
  }

  /// `policy kill` lasts four hours by default; by the device's clock they were over when they began.
  @Test func killSwitchWorksIfTheClockIsFiveHoursAhead() throws {
    let bench = try Bench()
    try bench.origin.publish([page: bytes("one")])
    let clock = bench.clock
    bench.origin.setClock { clock.now - 5 * hour }
    let until = Instant(milliseconds: clock.now - hour)
    bench.origin.serve(
      bytes(
        #"{"code":200,"data":{"version":"7","intercept":false,"until":"\#(until)","bypass":[],"scripts":[]}}"#
      ),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    bench.origin.say(#","policy":"7""#)
    let device = try bench.device()
    _ = try device.update()
    #expect(device.intercepts(page))
    clock.advance(seconds: 31)
    _ = try device.update()
    #expect(try !device.intercepts(page) && device.resource(for: page) == nil && device.isKilled)
    device.close()
    let next = try bench.device()
    #expect(!next.intercepts(page))
    clock.advance(seconds: 4 * 3600)
    #expect(try next.page(for: page)?.read() == bytes("one"))
  }

  /// Devices with correct clocks, which are most, save nothing.
  @Test func correctClocksSaveNothing() throws {
    let bench = try Bench()
    try bench.origin.publish([page: bytes("one")])
    let (clock, off) = (bench.clock, Locked<Int64>(5 * hour))
    bench.origin.setClock { clock.now - off.withLock { $0 } }
    let device = try bench.device()
    _ = try device.update()
    #expect(device.folder.status(device.folder.clock) != nil)
    off.withLock { $0 = 1_000 }
    for _ in 0..<2 {
      clock.advance(seconds: 31)
      _ = try device.update()
    }
    #expect(device.folder.status(device.folder.clock) == nil)
  }

  @Test func agesAreAddedToDates() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let head = { (fields: [String: String]) in TransportHead(status: 200, asked: 0) { fields[$0] } }
    #expect(head(["date": date])?.serverTime == 784_111_777_000)
    #expect(head(["date": date, "age": "0"])?.serverTime == 784_111_777_000)
    #expect(head(["date": date, "age": "300"])?.serverTime == 784_112_077_000)
    for age in ["301", "-1", "", "a while", "9999999999999999999"] {
      #expect(head(["date": date, "age": age])?.serverTime == nil, "\(age)")
    }
    #expect(head(["date": "yesterday"])?.serverTime == nil && head([:])?.serverTime == nil)
  }
}
