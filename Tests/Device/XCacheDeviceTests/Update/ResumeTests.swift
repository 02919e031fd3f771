import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private let large = "https://m.test/large.bin"
private let megabyte = 1 << 20

/// Interrupted downloads of large files: received bytes are kept, and verified by the digest.
@Suite struct ResumeTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  let content = (0..<64).flatMap { [UInt8($0)] + [UInt8](repeating: 0x2E, count: (1 << 16) - 1) }

  init() throws {
    bench = try Bench()
    // The age of bytes from an earlier process is that of the file system.
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try bench.origin.publish([large: content])
  }

  private func half(_ device: Device) -> Int64? {
    device.folder.status(device.folder.half(SHA256.of(content)))?.size
  }

  private func hasTheFile(_ device: Device) throws -> Bool {
    let isClean = try Folder.textNames("\(bench.scratch.path)/device/staging").isEmpty
    return try isClean && device.resource(for: large)?.read() == content
  }

  /// Interrupts the download after three of four megabytes, and answers with `fault` from then on.
  private func interrupt(then fault: FakeOrigin.Fault) throws {
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
  func receivedBytesAreKept(after fault: FakeOrigin.Fault) throws {
    try interrupt(then: fault)
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte)])
    #expect(try hasTheFile(device))
  }

  /// A CDN may have its own entity tags, and doesn't know ours.
  @Test(arguments: [("\"5f3-18c\"", "\"5f3-18c\""), ("W/\"5f3-18c\"", nil), ("", nil)])
  func serversTagIsSent(tag: String, sent: String?) throws {
    origin.setTag(tag)
    try interrupt(then: .status(503))
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [Int64(3 * megabyte)] && asked.map(\.sentTag) == [sent])
    #expect(try hasTheFile(device))
  }

  /// A CDN whose nodes have different tags: another node's whole answer doesn't discard received bytes, and the next
  /// attempt is unconditional.
  @Test func otherTagsKeepReceivedBytes() throws {
    origin.setTag("\"one\"")
    try interrupt(then: .status(503))
    origin.setTag("\"two\"")
    origin.tear("large", after: [2 * megabyte])
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [Int64(3 * megabyte), Int64(3 * megabyte)])
    #expect(asked.map(\.sentTag) == ["\"one\"", nil])
    #expect(try hasTheFile(device))
  }

  /// The file that is sent again differs in the middle: from there on, only the new bytes count.
  @Test func otherFilesReplaceTheRest() throws {
    origin.setTag("\"one\"")
    try interrupt(then: .status(503))
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
    #expect(try hasTheFile(device))
  }

  /// A captive portal's page, or another range, doesn't discard received bytes the first time.
  @Test(arguments: [
    FakeOrigin.Fault.body(Array("<p>sign in".utf8)), .error(TransportError(.other, "another part")),
  ])
  func wrongAnswersKeepReceivedBytes(fault: FakeOrigin.Fault) throws {
    try interrupt(then: .status(503))
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
    #expect(try hasTheFile(device))
  }

  /// A server that always answers ranges with something else is asked for the whole file.
  @Test func wholeFileIsRequestedIfRangesFail() throws {
    try interrupt(then: .status(503))
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
    #expect(try hasTheFile(device))
  }

  /// Tags that aren't ASCII can't be sent back exactly, so they aren't sent.
  @Test func tagsThatAreNotASCIIAreNotSent() throws {
    origin.setTag("\"a\u{80}\"")
    try interrupt(then: .status(503))
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.sentTag) == [nil])
    #expect(try hasTheFile(device))
  }

  /// Not only large files are resumed.
  @Test func mediumFilesAreResumed() throws {
    let medium = "https://m.test/medium.js"
    let text = Array(content[..<900_000])
    try origin.publish([medium: text])
    origin.tear("medium", after: [600_000])
    let device = try bench.device()
    #expect(try device.update().to == "2")
    #expect(origin.takeRanges().map(\.start) == [0, 600_000])
    #expect(try device.resource(for: medium)?.read() == text)
  }

  /// A server without ranges, whose connection breaks earlier than before.
  @Test func shorterDownloadsKeepReceivedBytes() throws {
    try interrupt(then: .status(503))
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
    #expect(try hasTheFile(device))
  }

  /// Without a tag, bytes of another file are found by the digest, which costs one more download.
  @Test func digestIsChecked() throws {
    origin.setTag("")
    try interrupt(then: .status(503))
    let device = try bench.device()
    try DurableFile.write(
      [UInt8](repeating: 7, count: 3 * megabyte), to: device.folder.half(SHA256.of(content)))
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte), 0])
    #expect(try hasTheFile(device))
  }

  @Test func frequentInterruptionsAreResumedInOneUpdate() throws {
    origin.tear("large", after: [megabyte, megabyte, megabyte, megabyte / 2])
    let device = try bench.device()
    #expect(try device.update().to == "1")
    #expect(origin.takeRanges().count == 5)
    #expect(try hasTheFile(device))
  }

  /// A CDN that answers with smaller ranges than requested.
  @Test func slicesAreJoined() throws {
    try interrupt(then: .status(503))
    origin.setSlice(megabyte / 2)
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    #expect(origin.takeRanges().map(\.start) == [Int64(3 * megabyte), Int64(3 * megabyte + megabyte / 2)])
    #expect(try hasTheFile(device))
  }
}
