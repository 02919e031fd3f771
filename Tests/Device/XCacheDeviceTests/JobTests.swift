import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice

private let large = "https://m.test/large.bin"
private let small = "https://m.test/small.js"

/// Updates that are stopped, and resumed.
@Suite struct JobTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }
  // 48 pieces, all different.
  private let files = [
    large: (0..<48).flatMap { [UInt8($0)] + [UInt8](repeating: 0x2E, count: (1 << 16) - 1) },
    small: bytes("small"),
  ]

  init() throws {
    bench = try Bench()
    bench.clock.advance(seconds: (Clock.unixMilliseconds() - bench.clock.now) / 1000)
    try origin.publish(files)
  }

  private func hasAllFiles(_ device: Device) throws -> Bool {
    try files.allSatisfy { try device.resource(for: $0.key)?.read() == $0.value }
  }

  /// A stopped job ends at its next piece; what it fetched is kept, and the next job resumes there.
  @Test func stoppedUpdatesAreResumed() throws {
    let device = try bench.device()
    let signal = StopSignal()
    let pieces = Locked(0)
    origin.eachPiece { url in
      guard url.contains("large") else { return }
      let isHalf = pieces.withLock { count in
        count += 1
        return count == 24
      }
      if isHalf { device.stop(signal) }
    }
    let error = #expect(throws: DeviceError.self) { try device.update(force: true, until: signal) }
    #expect(error?.isStop == true && device.version == "0")
    #expect(pieces.withLock { $0 } == 24)
    #expect(device.policy.withLock { $0.failures } == 0)
    #expect(origin.takeTold().isEmpty)
    origin.eachPiece(nil)
    origin.tear("large", after: [])
    #expect(try device.update(force: true).to == "1")
    // 23 pieces of 64 KB are there.
    #expect(origin.takeRanges().map(\.start) == [23 << 16])
    #expect(try hasAllFiles(device))
  }

  /// A job that is stopped before it begins sends nothing, and the next one is due.
  @Test func jobsStoppedBeforeTheyBeginDoNotPoll() throws {
    let device = try bench.device()
    let signal = StopSignal()
    device.stop(signal)
    #expect(throws: DeviceError.self) { try device.update(until: signal) }
    #expect(origin.takeLog() == [])
    #expect(try device.update().to == "1")
  }

  /// The process ends in the middle of a large file.
  @Test func largeFilesAreResumedAfterAKill() throws {
    origin.tear("large", after: [1 << 20, 1 << 19, 1 << 19])
    do {
      let device = try bench.device()
      #expect(throws: DeviceError.self) { try device.update() }
      #expect(origin.takeRanges().map(\.start) == [0, 1 << 20, 3 << 19])
    }
    let device = try bench.device()
    #expect(try device.update(force: true).to == "1")
    let asked = origin.takeRanges()
    #expect(asked.map(\.start) == [2 << 20])
    #expect(asked[0].entityTag == "\"\(MD5.of(try #require(files[large])).hex)\"" && asked[0].isUncoded)
    #expect(try hasAllFiles(device))
    #expect(try Folder.textNames("\(bench.scratch.path)/device/staging").isEmpty)
  }

  /// Stored parts are verified like bytes of the network.
  @Test(arguments: [1000, 3 << 20, 4 << 20]) func wrongPartsAreFetchedAgain(count: Int) throws {
    let device = try bench.device()
    let sha256 = SHA256.of(try #require(files[large]))
    try DurableFile.write([UInt8](repeating: 7, count: count), to: device.folder.half(sha256))
    #expect(try device.update().to == "1")
    #expect(try hasAllFiles(device))
  }

  @Test func serversWithoutRangesSendTheWholeFile() throws {
    let device = try bench.device()
    let content = try #require(files[large])
    try DurableFile.write(Array(content.prefix(1 << 20)), to: device.folder.half(SHA256.of(content)))
    origin.tear("large", after: [])
    origin.setRanges(false)
    #expect(try device.update().to == "1")
    #expect(origin.takeRanges().map(\.start) == [1 << 20])
    #expect(try hasAllFiles(device))
  }

  @Test func partsAreRemovedAfterADay() throws {
    let device = try bench.device()
    let half = device.folder.half(SHA256.of(bytes("any")))
    try DurableFile.write(bytes("an"), to: half)
    bench.clock.advance(seconds: 25 * 3600)
    try origin.publish([:])
    _ = try device.update(force: true)
    #expect(try Kernel.status(half) == nil)
  }

  /// A server that accepts connections and sends nothing costs two timeouts, not three for each file.
  @Test func updatesEndAfterTwoTimeouts() throws {
    try origin.publish(
      Dictionary(uniqueKeysWithValues: (0..<50).map { ("https://m.test/\($0).js", bytes("\($0)")) }))
    let device = try bench.device(change: { $0.connections = 1 })
    origin.fail { url in
      url.hasPrefix("https://cdn.test/") ? .error(TransportError(.timedOut, "nothing came")) : nil
    }
    #expect(throws: DeviceError.self) { try device.update() }
    #expect(origin.takeLog().count { $0.hasPrefix("https://cdn.test/") } == 2)
    // The next update tries again.
    origin.fail(nil)
    #expect(try device.update(force: true).to == "2")
  }

  /// A page can use the network: it doesn't wait for a second attempt.
  @Test func pagesWaitForOneAttempt() throws {
    let device = try bench.device()
    _ = try device.update()
    try Kernel.remove(device.folder.file(try #require(device.index.entries.first).name))
    origin.fail {
      $0.hasPrefix("https://cdn.test/") ? .error(TransportError(.timedOut, "nothing came")) : nil
    }
    _ = origin.takeLog()
    #expect(throws: DeviceError.self) { try device.resource(for: large) }
    #expect(origin.takeLog().count == 1)
  }

  @Test func closedDevicesReleaseTheirFolder() throws {
    let device = try bench.device()
    _ = try device.update()
    device.close()
    let next = try bench.device()
    #expect(try hasAllFiles(next))
    let closed = DeviceError.closed(folder: bench.settings().folder)
    #expect(throws: closed) { try device.update(force: true) }
    #expect(throws: closed) { try device.complete() }
    #expect(throws: closed) { try device.fetchBacklog() }
    #expect(throws: closed) { try device.resource(for: small) }
    // It writes nothing any more.
    device.saveUses()
    device.close()
    withExtendedLifetime(next) {}
  }

  /// As in an app without a runtime that updates with each trigger: the second call polls during the first one's
  /// downloads.
  @Test func callsDuringAnUpdateGetTheKillSwitch() throws {
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([large: bytes("small by now"), small: bytes("small")])
    bench.clock.advance(seconds: 31)
    origin.serve(
      bytes(#"{"code":200,"data":{"version":"7","intercept":false,"bypass":[],"scripts":[]}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    let clock = bench.clock
    let others = Locked<[OSThread]>([])
    let second = Locked<Result<UpdateReport, any Error>?>(nil)
    origin.eachPiece { [origin] url in
      guard url.contains("large"), others.withLock({ $0.isEmpty }) else { return }
      origin.say(#","policy":"7""#)
      _ = origin.takeLog()
      clock.advance(seconds: 31)
      let thread = try? OSThread(name: "second") {
        let result = Result { try device.update() }
        second.withLock { $0 = result }
      }
      others.withLock { if let thread { $0.append(thread) } }
      for _ in 0..<5_000 where !device.isKilled { Clock.sleep(for: .milliseconds(1)) }
    }
    let first = try device.update()
    others.withLock { $0 }.forEach { $0.join() }
    #expect(device.isKilled && first.to == "2")
    // One poll for both, and nothing fetched twice.
    #expect(try second.withLock { try $0?.get().kind } == .notDue)
    #expect(origin.takeLog().count { $0.contains("configure.json") } == 1)
  }

  /// When the device closes, downloads end at their next piece.
  @Test func closingEndsUpdates() throws {
    let device = try bench.device()
    let closing = Locked<OSThread?>(nil)
    origin.eachPiece { url in
      guard url.contains("large"), closing.withLock({ $0 == nil }) else { return }
      let thread = try? OSThread(name: "closing") { device.close() }
      closing.withLock { $0 = thread }
      while !device.gate.isClosed { Clock.sleep(for: .milliseconds(1)) }
    }
    #expect(throws: DeviceError.self) { try device.update() }
    closing.withLock { $0 }?.join()
    origin.eachPiece(nil)
    let next = try bench.device()
    #expect(try next.update(force: true).to == "1")
    #expect(try hasAllFiles(next))
  }
}
