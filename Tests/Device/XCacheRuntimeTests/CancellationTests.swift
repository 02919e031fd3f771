import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// Cancelled tasks, and closed runtimes.
@Suite struct CancellationTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  /// Blocks every download at its first piece.
  private func hold() -> Barrier {
    let barrier = Barrier()
    origin.eachPiece { if $0.hasPrefix("https://cdn.test/") { barrier.wait() } }
    return barrier
  }

  @Test func cancelledTasksReturnAndEndTheUpdate() async throws {
    let runtime = try await bench.runtime()
    let barrier = hold()
    let waiter = Task { await runtime.handle(.launch) }
    await barrier.reached()
    waiter.cancel()
    // While the next byte hasn't arrived.
    #expect(await waiter.value == nil)
    #expect(runtime.version == "0")
    barrier.open()
    origin.eachPiece(nil)
    // The update ends, and the next one works.
    #expect(await runtime.update(force: true)?.to == "1")
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
  }

  @Test func otherWaitersGetTheUpdate() async throws {
    let runtime = try await bench.runtime()
    let barrier = hold()
    let first = Task { await runtime.handle(.launch) }
    await barrier.reached()
    let second = Task { await runtime.handle(.foreground) }
    // Wait until the second one has joined.
    while runtime.state.withLock({ $0.update?.waiters }) != 2 { try await Task.sleep(for: .milliseconds(1)) }
    first.cancel()
    #expect(await first.value == nil)
    barrier.open()
    #expect(await second.value?.to == "1")
  }

  @Test func tasksCancelledBeforeSendNothing() async throws {
    let runtime = try await bench.runtime()
    _ = origin.takeLog()
    let isCancelled = Barrier()
    let task = Task {
      await isCancelled.reached()
      return await runtime.handle(.launch)
    }
    task.cancel()
    let thread = try OSThread(name: "opens") { isCancelled.wait() }
    #expect(await task.value == nil)
    isCancelled.open()
    thread.join()
    #expect(origin.takeLog() == [])
  }

  /// The trigger `pageOpened` waits for the page's first answer.
  @Test func tasksThatWaitForAPageAreCancelled() async throws {
    let runtime = try await bench.runtime()
    let open = runtime.open(RuntimeBench.page)
    let task = Task { await runtime.handle(.pageOpened(open)) }
    while runtime.state.withLock({ $0.pages[open.id]?.waiting.isEmpty ?? true }) {
      try await Task.sleep(for: .milliseconds(1))
    }
    _ = origin.takeLog()
    task.cancel()
    #expect(await task.value == nil)
    #expect(origin.takeLog() == [])
  }

  @Test func nextRuntimeStartsAtOnce() async throws {
    for number in 1...5 {
      let runtime = try await bench.runtime()
      #expect(runtime.fault == nil)
      try origin.publish([RuntimeBench.script: bytes("let \(number)")])
      await runtime.update(force: true)
      let open = runtime.open(RuntimeBench.page)
      #expect(try await bench.ask(runtime, RuntimeBench.script, page: open) == "200 let \(number)")
      await runtime.close()
      #expect(try await bench.ask(runtime, RuntimeBench.script) == "closed")
      #expect(await runtime.handle(.launch) == nil)
      // An open page doesn't count as a crash, and late signals don't write into the folder.
      #expect(try Kernel.status("\(bench.folder)/starting") == nil)
      runtime.scriptFailed(open)
      await runtime.close()
      #expect(try DurableFile.read("\(bench.folder)/uses.json") != nil)
    }
  }

  @Test func closingEndsUpdates() async throws {
    let runtime = try await bench.runtime()
    let barrier = hold()
    let update = Task { await runtime.handle(.launch) }
    await barrier.reached()
    let closing = Task { await runtime.close() }
    while runtime.isOpen { try await Task.sleep(for: .milliseconds(1)) }
    barrier.open()
    await closing.value
    #expect(await update.value == nil)
    origin.eachPiece(nil)
    let next = try await bench.runtime()
    #expect(next.fault == nil && next.version == "0")
    #expect(await next.update(force: true)?.to == "1")
  }

  @Test func closingEndsFetchesOfPages() async throws {
    let runtime = try await bench.runtime()
    await runtime.update(force: true)
    for name in try Folder.textNames("\(bench.folder)/files") {
      try Kernel.remove("\(bench.folder)/files/\(name)")
    }
    await runtime.close()
    let next = try await bench.runtime()
    let barrier = hold()
    let answer = Task { try await bench.ask(next, RuntimeBench.script) }
    await barrier.reached()
    let closing = Task { await next.close() }
    while next.isOpen { try await Task.sleep(for: .milliseconds(1)) }
    barrier.open()
    #expect(try await answer.value == "unavailable")
    await closing.value
    origin.eachPiece(nil)
    #expect(try await bench.ask(try await bench.runtime(), RuntimeBench.script) == "200 let one")
  }

  @Test func eventsEnd() async throws {
    let runtime = try await bench.runtime()
    let events = runtime.events
    await runtime.close()
    for await _ in events {}
    // Also for later listeners.
    for await _ in runtime.events {}
  }
}
