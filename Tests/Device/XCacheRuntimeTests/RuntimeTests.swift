import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

private let page = RuntimeBench.page
private let script = RuntimeBench.script

/// A runtime with an origin in memory.
@Suite struct RuntimeTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  private func runtime(_ change: (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime {
    try await bench.runtime(change)
  }

  /// A runtime after one that was released without `close`, as when a process ends. A thread that just finished its
  /// last job may still hold the folder, which the end of a process would have released.
  private func afterACrash(_ change: (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime {
    while true {
      let runtime = try await runtime(change)
      guard case .inUse = runtime.fault else { return runtime }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// What a page gets: `200 text`, or the reason why the request went to the network.
  private func ask(
    _ runtime: Runtime, _ url: String, method: String = "GET",
    _ headers: HTTPFields = [],
    destination: PageRequest.Destination = .other, page: OpenPage? = nil
  ) async throws -> String {
    try await bench.ask(runtime, url, method: method, headers, destination: destination, page: page)
  }

  @Test func pagesComeFromTheDevice() async throws {
    let runtime = try await runtime()
    #expect(try await ask(runtime, script) == "notListed")
    #expect(await runtime.handle(.launch)?.to == "1")
    let open = runtime.open(page)
    #expect(try await ask(runtime, page + "?x=1#y", destination: .document, page: open) == "200 <p>one")
    #expect(try await ask(runtime, script, page: open) == "200 let one")
    #expect(try await ask(runtime, script, method: "HEAD", page: open) == "200 ")
    #expect(try await ask(runtime, script, [("Range", "bytes=4-")], page: open) == "206 one")
    #expect(try await ask(runtime, script + "?x", page: open) == "notListed")
    #expect(try await ask(runtime, script, method: "POST", page: open) == "notCacheable")
    #expect(try await ask(runtime, "about:blank", page: open) == "notCacheable")
    #expect(try await ask(runtime, "https://bank.test/", page: open) == "foreignHost")
    let counts = runtime.counts
    #expect(counts.memory + counts.disk == 4 && counts.memory == 1)
    #expect(counts.passed == [.notListed: 2, .notCacheable: 2, .foreignHost: 1])
  }

  @Test func pagesOfOtherHostsGetNothing() async throws {
    let runtime = try await runtime()
    await runtime.handle(.launch)
    #expect(try await ask(runtime, script, page: runtime.open("https://bank.test/")) == "foreignHost")
  }

  @Test func triggersPollAtMostOnceIn30Seconds() async throws {
    let runtime = try await runtime()
    _ = origin.takeLog()
    async let first = runtime.handle(.launch)
    async let second = runtime.handle(.foreground)
    _ = await (first, second)
    for trigger in [Trigger.push, .pageClosed, .foreground] {
      #expect(await runtime.handle(trigger)?.kind == .notDue)
    }
    #expect(origin.takeLog().count { $0.contains("configure.json") } == 1)
  }

  @Test func nothingIsRequestedOffline() async throws {
    let runtime = try await runtime()
    runtime.conditions.network = .offline
    _ = origin.takeLog()
    #expect(await runtime.handle(.launch) == nil)
    #expect(origin.takeLog() == [])
  }

  @Test func eventsAreSent() async throws {
    let runtime = try await runtime()
    var events = runtime.events.makeAsyncIterator()
    var received: [String] = []
    await runtime.handle(.launch)
    while let event = await events.next() {
      switch event {
      case .updateFound(let version): received.append("found \(version)")
      case .progress: if received.last != "progress" { received.append("progress") }
      case .switched(let from, let to): received.append("switched \(from) \(to)")
      default: received.append("?")
      }
      if case .switched = event { break }
    }
    #expect(received == ["found 1", "progress", "switched 0 1"])
  }

  @Test func pagesOfOlderVersionsGetTheirFiles() async throws {
    let runtime = try await runtime()
    await runtime.handle(.launch)
    let old = runtime.open(page)
    #expect(try await ask(runtime, page, destination: .document, page: old) == "200 <p>one")
    try origin.publish([page: bytes("<p>two"), "https://m.test/app2.js": bytes("let two")])
    _ = try runtime.device?.update(force: true)
    #expect(runtime.version == "2")
    #expect(try await ask(runtime, script, page: old) == "200 let one")
    #expect(try await ask(runtime, script, [("Range", "bytes=0-2")], page: old) == "206 let")
    let new = runtime.open(page)
    #expect(try await ask(runtime, script, page: new) == "notListed")
    #expect(try await ask(runtime, script) == "notListed")
    runtime.close(old)
    #expect(try await ask(runtime, script, page: old) == "notListed")
  }

  @Test func damagedFilesAreFetchedAgain() async throws {
    let first = try await runtime()
    await first.handle(.launch)
    await first.close()
    let folder = "\(bench.folder)/files"
    for name in try Folder.textNames(folder) {
      try DurableFile.write(bytes("damaged"), to: "\(folder)/\(name)")
    }
    let runtime = try await runtime()
    #expect(try await ask(runtime, script) == "200 let one")
    // If that fails, the request goes to the network.
    for name in try Folder.textNames(folder) where name.contains("index") {
      try DurableFile.write(bytes("damaged"), to: "\(folder)/\(name)")
    }
    origin.fail { _ in .error(TransportError(.unreachable, "no way")) }
    #expect(try await ask(runtime, page, destination: .document) == "unavailable")
  }

  @Test func pagesThatFailTwiceGoToTheNetwork() async throws {
    let first = try await runtime { $0.pageDeadline = 60_000 }
    func fail(_ runtime: Runtime) async throws {
      let open = runtime.open(page)
      #expect(try await ask(runtime, page, destination: .document, page: open) == "200 <p>one")
      runtime.scriptFailed(open)
      // Too late to count.
      runtime.pageCameUp(open)
      runtime.close(open)
    }
    await first.handle(.launch)
    try await fail(first)
    // Also across a restart of the app.
    await first.close()
    let next = try await runtime { $0.pageDeadline = 60_000 }
    var events = next.events.makeAsyncIterator()
    try await fail(next)
    guard case .pageFailed(let url, let version) = await events.next() else {
      Issue.record("no event")
      return
    }
    #expect(url == page && version == "1")
    let open = next.open(page)
    #expect(try await ask(next, page, destination: .document, page: open) == "pageFailed")
    #expect(try await ask(next, script, page: open) == "pageFailed")
    // Until the next version.
    try origin.publish([page: bytes("<p>two")])
    await next.update(force: true)
    #expect(try await ask(next, page, destination: .document, page: next.open(page)) == "200 <p>two")
  }

  /// A page that fails while its lazy parts are still to come doesn't get them from another version.
  @Test func aPageThatFailedKeepsItsManifest() async throws {
    let runtime = try await runtime { $0.pageDeadline = 60_000 }
    await runtime.handle(.launch)
    let pages = [runtime.open(page), runtime.open(page)]
    for open in pages {
      #expect(try await ask(runtime, page, destination: .document, page: open) == "200 <p>one")
      runtime.scriptFailed(open)
    }
    #expect(runtime.state.withLock { $0.health.isFailed(page) })
    #expect(try await ask(runtime, script, page: pages[1]) == "200 let one")
    // Unless it loads its document again.
    #expect(try await ask(runtime, page, destination: .document, page: pages[1]) == "pageFailed")
    #expect(try await ask(runtime, script, page: pages[1]) == "pageFailed")
  }

  @Test func pagesThatNeverPaintHaveFailed() async throws {
    let runtime = try await runtime { $0.pageDeadline = 20 }
    await runtime.handle(.launch)
    var events = runtime.events.makeAsyncIterator()
    // A page whose deadline passes before its document arrives doesn't count, so it may take more than two.
    while !runtime.state.withLock({ $0.health.isFailed(page) }) {
      _ = try await ask(runtime, page, destination: .document, page: runtime.open(page))
      try await Task.sleep(for: .milliseconds(5))
    }
    guard case .pageFailed = await events.next() else {
      Issue.record("no event")
      return
    }
  }

  @Test func hiddenPagesFailOnlyOnceVisible() async throws {
    let runtime = try await runtime { $0.pageDeadline = 20 }
    await runtime.handle(.launch)
    func hidden() async throws -> OpenPage {
      let open = runtime.open(page)
      runtime.setHidden(true, open)
      _ = try await ask(runtime, page, destination: .document, page: open)
      return open
    }
    for _ in 1...3 {
      let open = try await hidden()
      runtime.reached(.load, open, after: 1)
      try await Task.sleep(for: .milliseconds(60))
      runtime.scriptFailed(open)
    }
    #expect(runtime.state.withLock { $0.health.failures } == [:])
    // The process survived the start all the same.
    while runtime.state.withLock({ $0.marker != nil }) { try await Task.sleep(for: .milliseconds(5)) }
    // The deadline begins when the page becomes visible.
    let seen = try await (hidden(), hidden())
    try await Task.sleep(for: .milliseconds(60))
    for open in [seen.0, seen.1] { runtime.setHidden(false, open) }
    while !runtime.state.withLock({ $0.health.isFailed(page) }) {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  @Test func scriptErrorsBeforeAHiddenPageIsLoadedCount() async throws {
    let runtime = try await runtime { $0.pageDeadline = 60_000 }
    await runtime.handle(.launch)
    for _ in 1...2 {
      let open = runtime.open(page)
      _ = try await ask(runtime, page, destination: .document, page: open)
      runtime.setHidden(true, open)
      runtime.scriptFailed(open)
    }
    #expect(runtime.state.withLock { $0.health.isFailed(page) })
  }

  @Test func secondProcessesPassEverythingOn() async throws {
    let first = try await runtime()
    await first.handle(.launch)
    let second = try await runtime()
    guard case .inUse = second.fault else {
      Issue.record("\(String(describing: second.fault))")
      return
    }
    #expect(try await ask(second, script) == "unavailable")
    #expect(await second.handle(.launch) == nil)
    #expect(try await ask(first, script) == "200 let one")
  }

  /// A process that ends while its first page loads.
  private func crash(_ number: Int) async throws {
    let runtime = try await afterACrash()
    _ = runtime.open(page)
    let marker = "\(bench.folder)/starting"
    while try DurableFile.read(marker)?.first != UInt8(ascii: "0") + UInt8(number) {
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  @Test func interceptionIsOffAfterCrashes() async throws {
    // Starts without a page, and pages that are closed, don't count.
    for _ in 0..<4 {
      let quiet = try await runtime()
      await quiet.handle(.launch)
      quiet.close(quiet.open(page))
      #expect(try await ask(quiet, script) == "200 let one")
      await quiet.close()
    }
    for number in 1...3 { try await crash(number) }
    let off = try await afterACrash()
    #expect(try await ask(off, script) == "crashLoop")
    #expect(try await ask(off, page, destination: .document, page: off.open(page)) == "crashLoop")
    await off.close()
    // Another build of the app starts again.
    let other = try await runtime { $0.build = "2" }
    #expect(try await ask(other, script) == "200 let one")
    await other.close()
    // So does another policy.
    let runtime = try await runtime()
    #expect(try await ask(runtime, script) == "crashLoop")
    bench.serve(policy: 1, #""intercept":true,"bypass":[]"#)
    await runtime.update(force: true)
    #expect(try await ask(runtime, script) == "200 let one")
  }

  @Test func invalidSettingsAreErrors() async throws {
    await #expect(throws: DeviceError.self) {
      _ = try await runtime { $0.device.hosts = [] }
    }
  }
}
