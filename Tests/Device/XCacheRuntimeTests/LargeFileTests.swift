import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

private let video = "https://m.test/film.mp4"
private let small = "https://m.test/small.js"

/// Missing files that are too large for a page to wait for them.
@Suite struct LargeFileTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  private static let settings: DeviceSettings = {
    var settings = DeviceSettings(folder: "f", server: "https://x.test", app: "shop", hosts: ["m.test"])
    settings.diskLimit = 100 << 20
    return settings
  }()

  @Test(
    arguments: [
      (4096, false, .unmetered, .wait), (1 << 20, false, .unmetered, .wait),
      (1 << 20 + 1, false, .unmetered, .pass(fills: true)),
      (101 << 20, false, .unmetered, .pass(fills: false)),
      (4096, true, .unmetered, .wait), (128 << 10, true, .unmetered, .wait),
      (128 << 10 + 1, true, .unmetered, .pass(fills: true)), (256 << 10, false, .metered, .wait),
      (256 << 10 + 1, false, .metered, .pass(fills: true)), (1, false, .offline, .pass(fills: false)),
    ] as [(Int64, Bool, Conditions.Network, MissingFile)])
  func filesThatPagesWaitFor(size: Int64, isPart: Bool, network: Conditions.Network, becomes: MissingFile) {
    var conditions = Conditions()
    conditions.network = network
    #expect(MissingFile(size: size, isPart: isPart, conditions, Self.settings) == becomes)
  }

  private func remove(_ part: String) throws {
    for name in try Folder.textNames("\(bench.folder)/files") where part.isEmpty || name.contains(part) {
      try Kernel.remove("\(bench.folder)/files/\(name)")
    }
  }

  /// Requests the small file while the server delays others that pages wait for; then lets those arrive, too.
  private func askSmall(of runtime: Runtime, whileLoading slow: [String]) async throws {
    let barrier = Barrier()
    origin.eachPiece { if $0.contains("part-") { barrier.wait() } }
    let waiting = slow.map { url in Task { await runtime.answer(PageRequest(url)) } }
    await barrier.reached()
    #expect(try await bench.ask(runtime, small) == "200 let small")
    barrier.open()
    for task in waiting {
      guard case .local = await task.value else {
        Issue.record("a file that came late isn't answered")
        return
      }
    }
  }

  /// A runtime whose files with `part` in their names are missing.
  private func lacking(
    _ part: String, _ files: [String: [UInt8]], _ change: (inout RuntimeSettings) -> Void = { _ in }
  ) async throws -> Runtime {
    try origin.publish(files)
    let runtime = try await bench.runtime {
      $0.memoryLimit = 0
      change(&$0)
    }
    await runtime.handle(.launch)
    try remove(part)
    _ = origin.takeLog()
    return runtime
  }

  private static let content = [UInt8](repeating: 0x61, count: 3 << 20)

  /// A range doesn't make the page wait for the whole download, and the file is fetched once in the background.
  @Test func rangesOfLargeFilesComeFromTheNetwork() async throws {
    let runtime = try await lacking("film", [video: Self.content])
    let barrier = Barrier()
    origin.eachPiece { if $0.contains("film") { barrier.wait() } }
    for _ in 0..<20 {
      #expect(try await bench.ask(runtime, video, [("Range", "bytes=100-199")]) == "tooLarge")
    }
    #expect(try await bench.ask(runtime, video) == "tooLarge")
    barrier.open()
    await runtime.updateThread.waitUntilIdle(within: .seconds(60))
    #expect(bench.fetches() == 1)
    #expect(try await bench.ask(runtime, video, [("Range", "bytes=0-2")]) == "206 aaa")
    // If it is removed again, it isn't fetched again and again.
    try remove("film")
    #expect(try await bench.ask(runtime, video, [("Range", "bytes=0-2")]) == "tooLarge")
    await runtime.updateThread.waitUntilIdle(within: .seconds(60))
    #expect(bench.fetches() == 0)
  }

  @Test func filesAboveTheDiskLimitAreNotFetched() async throws {
    let runtime = try await lacking("film", [video: Self.content]) { $0.device.diskLimit = 2 << 20 }
    #expect(try await bench.ask(runtime, video) == "tooLarge")
    await runtime.updateThread.waitUntilIdle(within: .seconds(60))
    #expect(bench.fetches() == 0)
  }

  @Test func largeFilesWaitForAnUnmeteredNetwork() async throws {
    let runtime = try await lacking("film", [video: Self.content])
    runtime.conditions.network = .metered
    #expect(try await bench.ask(runtime, video) == "tooLarge")
    await runtime.updateThread.waitUntilIdle(within: .seconds(60))
    #expect(bench.fetches() == 0)
    runtime.conditions.network = .unmetered
    await runtime.updateThread.waitUntilIdle(within: .seconds(60))
    #expect(bench.fetches() == 1)
  }

  /// A script doesn't wait for medium files of a slow server.
  @Test func smallFilesHaveTheirOwnLane() async throws {
    let medium = (0..<12).map { "https://m.test/part-\($0).bin" }
    var files = Dictionary(
      uniqueKeysWithValues: medium.indices.map {
        (medium[$0], [UInt8](repeating: UInt8($0), count: 300 << 10))
      })
    files[small] = bytes("let small")
    let runtime = try await lacking("", files)
    try await askSmall(of: runtime, whileLoading: medium)
  }

  @Test func offlineNothingIsRequested() async throws {
    let runtime = try await lacking("small", [small: bytes("let small")])
    runtime.conditions.network = .offline
    #expect(try await bench.ask(runtime, small) == "unavailable")
    let device = try #require(runtime.device)
    #expect(throws: DeviceError.self) { try device.resource(for: small) }
    #expect(origin.takeLog() == [])
    runtime.conditions.network = .unmetered
    #expect(try await bench.ask(runtime, small) == "200 let small")
  }

  /// A script waits at most two seconds for small files of a slow server.
  @Test func slowSmallFilesLeaveTheirLane() async throws {
    let slow = (0..<12).map { "https://m.test/part-\($0).js" }
    var files = Dictionary(uniqueKeysWithValues: slow.map { ($0, bytes($0)) })
    files[small] = bytes("let small")
    let runtime = try await lacking("", files)
    try await askSmall(of: runtime, whileLoading: slow)
    // The extra threads have ended, and the lane still works.
    try remove("small")
    #expect(try await bench.ask(runtime, small) == "200 let small")
  }
}
