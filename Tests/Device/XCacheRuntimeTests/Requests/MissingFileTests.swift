import DeviceTestSupport
import Manifests
import System
import Testing
import TestSupport

@testable import XCacheDevice
@testable import XCacheRuntime

/// Listed files that are missing or damaged.
@Suite struct MissingFileTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  /// Paths of the device's files whose names contain `part`.
  private func files(_ part: String) throws -> [String] {
    try Folder.textNames("\(bench.folder)/files").filter { $0.contains(part) }.map {
      "\(bench.folder)/files/\($0)"
    }
  }

  /// However many requests wait for a hanging server, held files are answered from the disk.
  @Test func hangingServersDoNotBlockOtherRequests() async throws {
    let urls = (0..<12).map { "https://m.test/part-\($0).js" }
    try origin.publish(
      Dictionary(uniqueKeysWithValues: urls.map { ($0, bytes($0)) }).merging([
        RuntimeBench.page: bytes("<p>one")
      ]) { $1 })
    let runtime = try await bench.runtime { $0.memoryLimit = 0 }
    #expect(await runtime.handle(.launch)?.fetched == 13)
    for file in try files("part-") { try Kernel.remove(file) }
    let barrier = Barrier()
    origin.eachPiece { if $0.hasPrefix("https://cdn.test/") { barrier.wait() } }
    let waiting = urls.map { url in Task { await runtime.answer(PageRequest(url)) } }
    await barrier.reached()
    #expect(try await bench.ask(runtime, RuntimeBench.page, destination: .document) == "200 <p>one")
    barrier.open()
    for task in waiting {
      guard case .local = await task.value else {
        Issue.record("a file that came late isn't answered")
        return
      }
    }
  }

  /// The app's caches are cleared: the next trigger makes the folder again, and its files are fetched in the
  /// background.
  @Test func deletedFoldersAreRestored() async throws {
    let runtime = try await bench.runtime { $0.memoryLimit = 0 }
    #expect(await runtime.handle(.launch)?.fetched == 2)
    // What is still being written would make a part of the folder anew.
    await runtime.updateThread.waitUntilIdle(within: .seconds(600))
    Scratch.remove(bench.folder)
    #expect(await runtime.handle(.foreground)?.kind == .notDue)
    await runtime.updateThread.waitUntilIdle(within: .seconds(60))
    #expect(try files("m.test").count == 2)
    _ = origin.takeLog()
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
    #expect(bench.fetches() == 0)
    await runtime.close()
    let next = try await bench.runtime()
    #expect(next.version == "1")
    #expect(try await bench.ask(next, RuntimeBench.script) == "200 let one")
    #expect(bench.fetches() == 0)
  }

  /// A runtime whose script file is missing, and whose downloads wait at the barrier.
  private func lacking() async throws -> (runtime: Runtime, barrier: Barrier) {
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    for file in try files("app.js") { try Kernel.remove(file) }
    _ = origin.takeLog()
    let barrier = Barrier()
    origin.eachPiece { if $0.hasPrefix("https://cdn.test/") { barrier.wait() } }
    return (runtime, barrier)
  }

  private func waiters(_ runtime: Runtime) -> Int {
    runtime.state.withLock { $0.fetches.values.first?.waiters ?? 0 }
  }

  @Test func concurrentRequestsShareOneFetch() async throws {
    let (runtime, barrier) = try await lacking()
    let ranges = ["", "bytes=0-2", "bytes=4-"]
    let tasks = (0..<9).map { number in
      Task { try await bench.ask(runtime, RuntimeBench.script, [("Range", ranges[number % 3])]) }
    }
    while waiters(runtime) < 9 { try await Task.sleep(for: .milliseconds(1)) }
    barrier.open()
    var answers: [String] = []
    for task in tasks { answers.append(try await task.value) }
    #expect(Set(answers) == ["200 let one", "206 let", "206 one"])
    #expect(bench.fetches() == 1)
    #expect(runtime.state.withLock { $0.fetches.isEmpty })
  }

  @Test func cancelledRequestsDoNotAffectOthers() async throws {
    let (runtime, barrier) = try await lacking()
    let tasks = (0..<3).map { _ in Task { try await bench.ask(runtime, RuntimeBench.script) } }
    while waiters(runtime) < 3 { try await Task.sleep(for: .milliseconds(1)) }
    tasks[0].cancel()
    #expect(try await tasks[0].value == "cancelled")
    barrier.open()
    for task in tasks[1...] { #expect(try await task.value == "200 let one") }
    #expect(bench.fetches() == 1)
  }

  @Test func lastCancelledRequestEndsTheFetch() async throws {
    let (runtime, barrier) = try await lacking()
    let events = runtime.events
    let task = Task { try await bench.ask(runtime, RuntimeBench.script) }
    await barrier.reached()
    task.cancel()
    #expect(try await task.value == "cancelled")
    // A new request doesn't join the fetch that is ending.
    let next = Task { try await bench.ask(runtime, RuntimeBench.script) }
    while waiters(runtime) != 1 { try await Task.sleep(for: .milliseconds(1)) }
    barrier.open()
    #expect(try await next.value == "200 let one")
    await runtime.smallFetchThreads.waitUntilIdle(within: .seconds(60))
    #expect(bench.fetches() == 2)
    await runtime.close()
    for await event in events { Issue.record("\(event)") }
  }

  /// Blocking calls share a fetch, too, and so do URLs with the same bytes.
  @Test func threadsShareOneFetch() async throws {
    try origin.publish([RuntimeBench.script: bytes("same"), "https://m.test/twin.js": bytes("same")])
    let (runtime, barrier) = try await lacking()
    for file in try files("twin.js") { try Kernel.remove(file) }
    let device = try #require(runtime.device)
    let got = Locked<[String]>([])
    let threads = try (0..<6).map { number in
      try OSThread(name: "asks") {
        let url = number < 3 ? RuntimeBench.script : "https://m.test/twin.js"
        let text = (try? device.resource(for: url)?.read()).map { String(decoding: $0, as: UTF8.self) }
        got.withLock { $0.append(text ?? "nothing") }
      }
    }
    await barrier.reached()
    barrier.open()
    for thread in threads { thread.join() }
    #expect(got.withLock { $0 } == Array(repeating: "same", count: 6))
    #expect(bench.fetches() == 1)
  }

  /// After a fetch timed out, other requests don't wait for missing files.
  @Test func requestsDoNotWaitAfterATimeout() async throws {
    let runtime = try await bench.runtime { $0.memoryLimit = 0 }
    await runtime.handle(.launch)
    for file in try files("m.test") { try Kernel.remove(file) }
    origin.fail { _ in .error(TransportError(.timedOut, "nothing came")) }
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "unavailable")
    #expect(bench.fetches() > 0)
    #expect(try await bench.ask(runtime, RuntimeBench.page, destination: .document) == "unavailable")
    #expect(bench.fetches() == 0)
  }

  /// Files that are changed after they were verified.
  @Test func changedFilesAreVerifiedAgain() async throws {
    let runtime = try await bench.runtime { $0.memoryLimit = 0 }
    await runtime.handle(.launch)
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
    _ = origin.takeLog()
    for (text, fetches) in [("LET one", 1), ("let", 1), ("let one and more", 1)] {
      let file = try #require(try files("app.js").first)
      let written = bytes(text)
      let handle = try Kernel.open(file, [.write, .truncate])
      try Kernel.write(written.span.bytes, to: handle)
      #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
      #expect(bench.fetches() == fetches, "\(text)")
      #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
      #expect(bench.fetches() == 0, "\(text)")
    }
  }
}
