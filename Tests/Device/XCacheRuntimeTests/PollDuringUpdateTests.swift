import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// Polls during a download: a policy doesn't wait for it.
@Suite struct PollDuringUpdateTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }
  private static let kill = #""intercept":false,"bypass":[]"#

  init() throws { bench = try RuntimeBench() }

  private func runtime() async throws -> Runtime {
    var device = bench.bench.settings()
    device.hosts = ["m.test"]
    let clock = bench.bench.clock
    return try await Runtime(RuntimeSettings(device), transport: origin, clock: { clock.now })
  }

  private func advance() { bench.bench.clock.advance(seconds: 31) }

  /// Starts an update to version 2 whose download waits until the barrier is opened.
  private func downloading(_ runtime: Runtime) async throws -> (Task<UpdateReport?, Never>, Barrier) {
    #expect(await runtime.handle(.launch)?.to == "1")
    try origin.publish([RuntimeBench.page: bytes("<p>one"), RuntimeBench.script: bytes("let two")])
    let barrier = Barrier()
    origin.eachPiece { if $0.hasPrefix("https://cdn.test/") { barrier.wait() } }
    advance()
    let update = Task { await runtime.handle(.foreground) }
    await barrier.reached()
    _ = origin.takeLog()
    return (update, barrier)
  }

  private func polls() -> Int { origin.takeLog().count { $0.contains("configure.json") } }

  private func becomes(_ isTrue: () -> Bool) async -> Bool {
    for _ in 0..<2_000 where !isTrue() { try? await Task.sleep(for: .milliseconds(5)) }
    return isTrue()
  }

  /// Starts a trigger, and waits until it has joined the update.
  private func trigger(_ runtime: Runtime, waiters: Int) async -> Task<UpdateReport?, Never> {
    let task = Task { await runtime.handle(.push) }
    _ = await becomes { runtime.state.withLock { $0.update?.waiters } == waiters }
    return task
  }

  @Test func killSwitchWorksDuringADownload() async throws {
    let runtime = try await runtime()
    let events = runtime.events
    let (update, barrier) = try await downloading(runtime)
    bench.serve(policy: 7, Self.kill)
    // No poll is due yet.
    let early = await trigger(runtime, waiters: 2)
    #expect(polls() == 0 && !(runtime.device?.isKilled ?? true))
    advance()
    let due = await trigger(runtime, waiters: 3)
    #expect(await becomes { runtime.device?.isKilled == true })
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "killed")
    #expect(await becomes { runtime.state.withLock { $0.concurrentPoll == nil } })
    #expect(polls() == 1 && runtime.version == "1")
    // The interval counts from then, and listeners get the event.
    let again = await trigger(runtime, waiters: 4)
    #expect(polls() == 0)
    for await event in events { if case .policyChanged(version: "7") = event { break } }
    barrier.open()
    for task in [update, early, due, again] { #expect(await task.value?.to == "2") }
    // There was only one update.
    #expect(!origin.takeLog().contains { $0.hasPrefix("https://cdn.test/") })
  }

  @Test func pollsDuringADownloadCount() async throws {
    let runtime = try await runtime()
    let (update, barrier) = try await downloading(runtime)
    let device = try #require(runtime.device)
    origin.fail { $0.contains("configure.json") ? .status(503) : nil }
    for count in 1...2 {
      advance()
      let due = await trigger(runtime, waiters: count + 1)
      #expect(await becomes { device.policy.withLock { $0.failures } == count })
      #expect(await becomes { runtime.state.withLock { $0.concurrentPoll == nil } })
      _ = due
    }
    origin.fail(nil)
    advance()
    let due = await trigger(runtime, waiters: 4)
    #expect(await becomes { device.policy.withLock { $0.failures } == 0 })
    barrier.open()
    #expect(await update.value?.to == "2")
    _ = await due.value
  }

  @Test func closingEndsPollsDuringADownload() async throws {
    let runtime = try await runtime()
    let (update, barrier) = try await downloading(runtime)
    let second = Barrier()
    origin.eachPiece { _ in second.wait() }
    advance()
    let due = await trigger(runtime, waiters: 2)
    await second.reached()
    let closing = Task { await runtime.close() }
    _ = await becomes { !runtime.isOpen }
    barrier.open()
    second.open()
    await closing.value
    #expect(await update.value == nil)
    #expect(await due.value == nil)
    origin.eachPiece(nil)
    #expect(try await self.runtime().fault == nil)
  }

  /// The request waits for a missing file when the kill switch arrives.
  @Test func waitingRequestsArePassedOnWhenKilled() async throws {
    do {
      let runtime = try await runtime()
      #expect(await runtime.handle(.launch)?.to == "1")
      await runtime.close()
    }
    for name in try Folder.textNames("\(bench.folder)/files") {
      try Kernel.remove("\(bench.folder)/files/\(name)")
    }
    let runtime = try await runtime()
    let barrier = Barrier()
    origin.eachPiece { if $0.hasPrefix("https://cdn.test/") { barrier.wait() } }
    let answer = Task { try await bench.ask(runtime, RuntimeBench.script) }
    await barrier.reached()
    bench.serve(policy: 7, Self.kill)
    advance()
    await runtime.handle(.push)
    #expect(runtime.device?.isKilled == true)
    barrier.open()
    #expect(try await answer.value == "killed")
  }
}
