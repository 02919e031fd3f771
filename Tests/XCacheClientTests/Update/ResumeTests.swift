import Manifests
import System
import Testing

@testable import XCacheClient

private let large = "https://m.test/large.bin"
private let megabyte = 1 << 20

/// Large files whose download breaks off: what is here stays, and the digest decides.
@Suite struct ResumeTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  let content = (0..<64).flatMap { [UInt8($0)] + [UInt8](repeating: 0x2E, count: (1 << 16) - 1) }

  init() throws {
    bench = try Bench()
    // What an earlier process kept is as old as the file system says.
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try bench.origin.publish([large: content])
  }

  private func half(_ device: Device) -> Int64? {
    device.folder.status(device.folder.half(SHA256.of(content)))?.size
  }

  private func isRight(_ device: Device) throws -> Bool {
    let isClean = try Folder.textNames("\(bench.scratch.path)/device/staging").isEmpty
    return try isClean && device.resource(for: large)?.read() == content
  }

  /// Breaks off after three of four megabytes, and answers with `fault` from then on.
  private func breaksOff(then fault: FakeOrigin.Fault) throws {
    origin.tear("large", after: [3 * megabyte])
    let asked = Locked(0)
    origin.fail { url in
      guard url.contains("large") else { return nil }
      return asked.withLock { count in
        count += 1
        return count > 1
      } ? fault : nil
    }
    let device = try bench.device()
    #expect(throws: ClientError.self) { try device.update() }
    #expect(half(device) == Int64(3 * megabyte))
    origin.fail(nil)
    _ = origin.takeRanges()
  }

  @Test(arguments: [
    FakeOrigin.Fault.status(503), .status(429), .status(408), .status(404),
    .error(TransportError(.broken, "reset")),
    .error(TransportError(.unreachable, "refused")), .error(TransportError(.timedOut, "late")),
  ])
  func whatIsHereStays(after fault: FakeOrigin.Fault) throws {
    try breaksOff(then: fault)
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte)])
    #expect(try isRight(device))
  }

  /// A CDN that has tags of its own doesn't know ours.
  @Test(arguments: [("\"5f3-18c\"", "\"5f3-18c\""), ("W/\"5f3-18c\"", nil), ("", nil)])
  func theTagIsTheServersOwn(tag: String, sent: String?) throws {
    origin.setTag(tag)
    try breaksOff(then: .status(503))
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [Int64(3 * megabyte)] && asked.map(\.sentTag) == [sent])
    #expect(try isRight(device))
  }

  @Test func anotherTagBeginsAnew() throws {
    origin.setTag("\"one\"")
    try breaksOff(then: .status(503))
    origin.setTag("\"two\"")
    origin.tear("large", after: [2 * megabyte])
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [Int64(3 * megabyte), Int64(2 * megabyte)])
    #expect(asked.map(\.sentTag) == ["\"one\"", "\"two\""])
    #expect(try isRight(device))
  }

  /// A server without ranges, whose connection breaks sooner than before.
  @Test func whatIsSentAgainTakesNothingAway() throws {
    try breaksOff(then: .status(503))
    origin.setRanges(false)
    origin.tear("large", after: [megabyte, megabyte, megabyte])
    do {
      let device = try bench.device()
      #expect(throws: ClientError.self) { try device.update(force: true) }
      #expect(half(device) == Int64(3 * megabyte))
    }
    origin.setRanges(true)
    _ = origin.takeRanges()
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte)])
    #expect(try isRight(device))
  }

  /// Without a tag, bytes of another file are found by the digest, and cost one more download.
  @Test func theDigestDecides() throws {
    origin.setTag("")
    try breaksOff(then: .status(503))
    let device = try bench.device()
    try DurableFile.write(
      [UInt8](repeating: 7, count: 3 * megabyte), to: device.folder.half(SHA256.of(content)))
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte), 0])
    #expect(try isRight(device))
  }

  @Test func aLineThatBreaksOftenBringsItInOneUpdate() throws {
    origin.tear("large", after: [megabyte, megabyte, megabyte, megabyte / 2])
    let device = try bench.device()
    #expect(try device.update().to == "1")
    #expect(origin.takeRanges().count == 5)
    #expect(try isRight(device))
  }

  /// A CDN that sends a range in slices.
  @Test func slicesAreJoined() throws {
    try breaksOff(then: .status(503))
    origin.setSlice(megabyte / 2)
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte), Int64(3 * megabyte + megabyte / 2)])
    #expect(try isRight(device))
  }
}
