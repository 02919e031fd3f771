import Manifests
import System
import Testing

@testable import XCacheDevice

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
    #expect(throws: DeviceError.self) { try device.update() }
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

  /// A CDN whose nodes have tags of their own: what another node sends once more takes nothing away, and the next attempt
  /// goes on without a condition.
  @Test func anotherTagTakesNothingAway() throws {
    origin.setTag("\"one\"")
    try breaksOff(then: .status(503))
    origin.setTag("\"two\"")
    origin.tear("large", after: [2 * megabyte])
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [Int64(3 * megabyte), Int64(3 * megabyte)])
    #expect(asked.map(\.sentTag) == ["\"one\"", nil])
    #expect(try isRight(device))
  }

  /// What is sent once more differs in the middle: from there on, only the new bytes count.
  @Test func anotherFileTakesTheRest() throws {
    origin.setTag("\"one\"")
    try breaksOff(then: .status(503))
    origin.setTag("\"two\"")
    origin.tear("large", after: [2 * megabyte])
    let device = try bench.device()
    var bad = Array(content[..<(3 * megabyte)])
    bad[megabyte + 7] ^= 1
    try DurableFile.write(bad, to: device.folder.half(SHA256.of(content)))
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [Int64(3 * megabyte), Int64(2 * megabyte)])
    #expect(asked.map(\.sentTag) == ["\"one\"", "\"two\""])
    #expect(try isRight(device))
  }

  /// A captive portal's page, and an answer with some other part: the first time, neither takes away what is here.
  @Test(arguments: [
    FakeOrigin.Fault.body(Array("<p>sign in".utf8)), .error(TransportError(.other, "another part")),
  ])
  func anAnswerOfSomethingElseTakesNothingAway(fault: FakeOrigin.Fault) throws {
    try breaksOff(then: .status(503))
    let asked = Locked(0)
    origin.fail { url in
      guard url.contains("large") else { return nil }
      return asked.withLock { count in
        count += 1
        return count == 1
      } ? fault : nil
    }
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().last?.start == Int64(3 * megabyte))
    #expect(try isRight(device))
  }

  /// A server that always answers ranges with something else is asked for the whole file.
  @Test func aServerWithoutRangesThatWorkGetsTheWholeFile() throws {
    try breaksOff(then: .status(503))
    let device = try bench.device()
    let asked = Locked(0)
    origin.fail { url in
      guard url.contains("large") else { return nil }
      return asked.withLock { count in
        count += 1
        return count < 3
      } ? .error(TransportError(.other, "another part")) : nil
    }
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [0])
    #expect(try isRight(device))
  }

  /// Tags with bytes that aren't ASCII don't survive the way through text, so none is sent.
  @Test func aTagThatIsNotASCIIIsLeftOut() throws {
    origin.setTag("\"a\u{80}\"")
    try breaksOff(then: .status(503))
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.sentTag) == [nil])
    #expect(try isRight(device))
  }

  /// Not only large files go on from where the line broke.
  @Test func filesOfMiddlingSizeGoOn() throws {
    let middling = "https://m.test/middling.js"
    let text = Array(content[..<900_000])
    try origin.publish([middling: text])
    origin.tear("middling", after: [600_000])
    let device = try bench.device()
    #expect(try device.update().to == "2")
    #expect(origin.takeRanges().map(\.start) == [0, 600_000])
    #expect(try device.resource(for: middling)?.read() == text)
  }

  /// A server without ranges, whose connection breaks sooner than before.
  @Test func whatIsSentAgainTakesNothingAway() throws {
    try breaksOff(then: .status(503))
    origin.setRanges(false)
    origin.tear("large", after: [megabyte, megabyte, megabyte])
    do {
      let device = try bench.device()
      #expect(throws: DeviceError.self) { try device.update(force: true) }
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
