import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// A first install by a first pack, seen from the pages (docs/protocol.md §11, D-179, D-180).
@Suite struct FirstPackRuntimeTests {
  private static let page = "https://m.test/index.html"
  private static let late = "https://m.test/5.js"
  private static let files = [bytes("<p>one")] + (1..<6).map { PackBench.text($0, 150_000) }
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }
  private let pack: String

  init() throws {
    bench = try RuntimeBench()
    var files = [Self.page: Self.files[0]]
    for index in 1..<6 { files["https://m.test/\(index).js"] = Self.files[index] }
    let origin = bench.origin
    try origin.publish(files, version: 1)
    pack = try origin.offerFirst(Self.files).url
    origin.setPiece(16 << 10)
  }

  private func packs() -> Int { origin.takeLog().count { $0 == pack } }

  private func becomes(_ isTrue: () -> Bool) async -> Bool {
    for _ in 0..<2_000 where !isTrue() { try? await Task.sleep(for: .milliseconds(5)) }
    return isTrue()
  }

  private func held(_ runtime: Runtime) -> Int {
    runtime.device?.heldFiles().count { $0.path != nil } ?? 0
  }

  /// Starts the first update, and waits until some files of the pack are here.
  private func installing() async throws -> (Runtime, Task<UpdateReport?, Never>, Barrier) {
    let runtime = try await bench.runtime()
    let barrier = Barrier()
    let url = pack
    origin.eachPiece { [runtime] asked in
      if asked == url, runtime.device?.heldFiles().contains(where: { $0.path != nil }) == true {
        barrier.wait()
      }
    }
    let update = Task { await runtime.handle(.launch) }
    await barrier.reached()
    return (runtime, update, barrier)
  }

  /// Pages are answered while the pack comes; triggers meanwhile don't end its download.
  @Test func pagesAreAnsweredMeanwhile() async throws {
    let (runtime, update, barrier) = try await installing()
    #expect(runtime.version == "1" && runtime.activity.isUpdating)
    _ = origin.takeLog()
    #expect(try await bench.ask(runtime, Self.page, destination: .document) == "200 <p>one")
    #expect(origin.takeLog() == [])
    let late = try await bench.ask(runtime, Self.late)
    #expect(late == "200 " + String(decoding: Self.files[5], as: UTF8.self))
    #expect(origin.takeLog().count == 1)
    // Not due, so it joins the update.
    let trigger = Task { await runtime.handle(.push) }
    #expect(await becomes { runtime.state.withLock { $0.update?.waiters } == 2 })
    barrier.open()
    let report = await update.value
    #expect(report?.to == "1" && report?.fetched == 6 && report?.backlog == 0 && report?.pack?.files == 5)
    _ = await trigger.value
    #expect(origin.takeLog() == [])
    #expect(held(runtime) == 6)
    await runtime.close()
  }

  /// Listeners hear of the switch when it is made, and once.
  @Test func theSwitchIsToldAtOnce() async throws {
    let runtime = try await bench.runtime()
    let events = runtime.events
    let url = pack
    let barrier = Barrier()
    origin.eachPiece { if $0 == url { barrier.wait() } }
    let update = Task { await runtime.handle(.launch) }
    for await event in events { if case .switched(from: "0", to: "1") = event { break } }
    #expect(held(runtime) == 0)
    let rest = runtime.events
    barrier.open()
    #expect(await update.value?.fetched == 6)
    await runtime.close()
    for await event in rest { if case .switched = event { Issue.record("told twice") } }
  }

  /// A version is complete once its last file is here, and that is told once.
  @Test func completionIsToldAtTheEnd() async throws {
    let runtime = try await bench.runtime()
    let events = runtime.events
    let url = pack
    let barrier = Barrier()
    origin.eachPiece { if $0 == url { barrier.wait() } }
    let update = Task { await runtime.handle(.launch) }
    await barrier.reached()
    #expect(runtime.device?.completeVersion == nil)
    barrier.open()
    _ = await update.value
    _ = await runtime.update(force: true)
    await runtime.close()
    var told: [String] = []
    for await event in events {
      switch event {
      case .switched(_, let to): told.append("switched \(to)")
      case .completed(let version): told.append("completed \(version)")
      default: break
      }
    }
    #expect(told == ["switched 1", "completed 1"])
  }

  /// Where an update leaves files for later, the job of the backlog completes the version.
  @Test func theBacklogCompletes() async throws {
    let runtime = try await bench.runtime { $0.device.meteredLimit = 1000 }
    let events = runtime.events
    runtime.changeConditions { $0.network = .metered }
    #expect(await runtime.handle(.launch)?.backlog == 6)
    #expect(runtime.state.withLock { $0.completed } == nil)
    runtime.changeConditions { $0.network = .unmetered }
    for await event in events { if case .completed(version: "1") = event { break } }
    #expect(held(runtime) == 6)
    await runtime.close()
  }

  /// An update that nobody waits for any more ends, and the job of the backlog goes on.
  @Test func cancelledInstallsAreGoneOnWith() async throws {
    let (runtime, update, barrier) = try await installing()
    update.cancel()
    _ = await update.value
    barrier.open()
    #expect(await becomes { held(runtime) == 6 })
    #expect(await becomes { !runtime.activity.fetchesBacklog && !runtime.activity.isUpdating })
    #expect(origin.takeRanges().map { $0.start > 0 } == [false, true])
    await runtime.close()
  }

  /// A trigger for which no poll is due doesn't end what the backlog is fetching.
  @Test func triggersLeaveTheBacklogAlone() async throws {
    let runtime = try await bench.runtime { $0.device.meteredLimit = 1000 }
    runtime.changeConditions { $0.network = .metered }
    #expect(await runtime.handle(.launch)?.backlog == 6)
    let barrier = Barrier()
    let url = pack
    origin.eachPiece { if $0 == url { barrier.wait() } }
    runtime.changeConditions { $0.network = .unmetered }
    await barrier.reached()
    let report = await runtime.handle(.push)
    #expect(report?.kind == .notDue && (report?.wait ?? 0) > 0 && runtime.activity.fetchesBacklog)
    barrier.open()
    #expect(await becomes { held(runtime) == 6 })
    #expect(origin.takeRanges().map(\.start) == [0])
    await runtime.close()
  }

  /// The next process goes on with it.
  @Test func theNextProcessGoesOn() async throws {
    do {
      let (runtime, update, barrier) = try await installing()
      let closing = Task { await runtime.close() }
      _ = await becomes { !runtime.isOpen }
      barrier.open()
      await closing.value
      _ = await update.value
    }
    origin.eachPiece(nil)
    let runtime = try await bench.runtime()
    #expect(runtime.version == "1")
    _ = origin.takeRanges()
    _ = origin.takeLog()
    await runtime.handle(.launch)
    #expect(await becomes { held(runtime) == 6 })
    #expect(origin.takeRanges().map { $0.start > 0 } == [true])
    #expect(origin.takeLog().allSatisfy { $0 == pack || $0.contains("configure.json") })
    await runtime.close()
  }
}
