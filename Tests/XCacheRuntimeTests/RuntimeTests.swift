import Manifests
import System
import Testing

@testable import XCacheClient
@testable import XCacheRuntime

private let page = "https://m.test/index.html"
private let script = "https://m.test/app.js"

/// A runtime over an origin in memory.
@Suite struct RuntimeTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("<p>one"), script: bytes("let one")])
  }

  private func runtime(_ change: (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime {
    var device = bench.settings()
    device.hosts = ["m.test"]
    var settings = RuntimeSettings(device)
    change(&settings)
    return try await Runtime(settings, transport: origin)
  }

  /// The runtime of the next process. The one before it may still be held by a thread that just finished its last job, where
  /// a process's end would have let go of the folder.
  private func restarted(_ change: (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime {
    while true {
      let runtime = try await runtime(change)
      guard case .inUse = runtime.fault else { return runtime }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// What a page gets: `200 text`, or the reason why it went to the network.
  private func ask(
    _ runtime: Runtime, _ url: String, method: String = "GET",
    _ headers: [(name: String, value: String)] = [],
    destination: PageRequest.Destination = .other, page: OpenPage? = nil
  ) async throws -> String {
    let request = PageRequest(url, method: method, headers: headers, destination: destination, page: page)
    switch await runtime.answer(request) {
    case .local(let answer):
      return "\(answer.status) \(String(decoding: try answer.body.collect(), as: UTF8.self))"
    case .network(let reason): return reason.rawValue
    }
  }

  @Test func aPageComesFromTheDevice() async throws {
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

  @Test func aPageOfAnotherHostGetsNothing() async throws {
    let runtime = try await runtime()
    await runtime.handle(.launch)
    #expect(try await ask(runtime, script, page: runtime.open("https://bank.test/")) == "foreignHost")
  }

  @Test func triggersPollOnceInThirtySeconds() async throws {
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

  @Test func offlineNothingIsAsked() async throws {
    let runtime = try await runtime()
    runtime.conditions.network = .offline
    _ = origin.takeLog()
    #expect(await runtime.handle(.launch) == nil)
    #expect(origin.takeLog() == [])
  }

  @Test func eventsTellWhatHappens() async throws {
    let runtime = try await runtime()
    var events = runtime.events.makeAsyncIterator()
    var told: [String] = []
    await runtime.handle(.launch)
    while let event = await events.next() {
      switch event {
      case .updateFound(let version): told.append("found \(version)")
      case .progress: if told.last != "progress" { told.append("progress") }
      case .switched(let from, let to): told.append("switched \(from) \(to)")
      default: told.append("?")
      }
      if case .switched = event { break }
    }
    #expect(told == ["found 1", "progress", "switched 0 1"])
  }

  @Test func aPageOfAnOlderVersionStillGetsItsParts() async throws {
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

  @Test func aDamagedFileIsFetchedAgain() async throws {
    do { await (try runtime()).handle(.launch) }
    let folder = "\(bench.settings().folder)/files"
    for name in try Folder.textNames(folder) {
      try DurableFile.write(bytes("damaged"), to: "\(folder)/\(name)")
    }
    let runtime = try await restarted()
    #expect(try await ask(runtime, script) == "200 let one")
    // And where it can't be, the network has the word.
    for name in try Folder.textNames(folder) where name.contains("index") {
      try DurableFile.write(bytes("damaged"), to: "\(folder)/\(name)")
    }
    origin.fail { _ in .error(TransportError(.unreachable, "no way")) }
    #expect(try await ask(runtime, page, destination: .document) == "unavailable")
  }

  @Test func aPageThatFailsTwiceGoesToTheNetwork() async throws {
    var runtime: Runtime? = try await runtime { $0.pageDeadline = 60_000 }
    func fail(_ runtime: Runtime) async throws {
      let open = runtime.open(page)
      #expect(try await ask(runtime, page, destination: .document, page: open) == "200 <p>one")
      runtime.scriptFailed(open)
      // Late, and so for nothing.
      runtime.pageCameUp(open)
      runtime.close(open)
    }
    await runtime?.handle(.launch)
    try await fail(try #require(runtime))
    // Over a restart of the app.
    let file = "\(bench.settings().folder)/pages.json"
    while try DurableFile.read(file) == nil { try await Task.sleep(for: .milliseconds(5)) }
    runtime = nil
    let next = try await restarted { $0.pageDeadline = 60_000 }
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
    bench.clock.advance(seconds: 60)
    await next.update(force: true)
    #expect(try await ask(next, page, destination: .document, page: next.open(page)) == "200 <p>two")
  }

  @Test func aPageThatNeverPaintsHasFailed() async throws {
    let runtime = try await runtime { $0.pageDeadline = 20 }
    await runtime.handle(.launch)
    var events = runtime.events.makeAsyncIterator()
    for _ in 0..<2 {
      let open = runtime.open(page)
      #expect(try await ask(runtime, page, destination: .document, page: open) == "200 <p>one")
    }
    guard case .pageFailed = await events.next() else {
      Issue.record("no event")
      return
    }
  }

  @Test func aSecondProcessPassesEverythingOn() async throws {
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
    let runtime = try await restarted()
    _ = runtime.open(page)
    let marker = "\(bench.settings().folder)/starting"
    while try DurableFile.read(marker)?.first != UInt8(ascii: "0") + UInt8(number) {
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  @Test func afterCrashesInterceptionIsOff() async throws {
    do { await (try runtime()).handle(.launch) }
    // Starts without a page, and pages that are left, count for nothing.
    for _ in 0..<4 {
      let quiet = try await restarted()
      quiet.close(quiet.open(page))
      #expect(try await ask(quiet, script) == "200 let one")
    }
    while try DurableFile.read("\(bench.settings().folder)/starting") != nil {
      try await Task.sleep(for: .milliseconds(2))
    }
    for number in 1...3 { try await crash(number) }
    do {
      let runtime = try await restarted()
      #expect(try await ask(runtime, script) == "crashLoop")
      #expect(try await ask(runtime, page, destination: .document, page: runtime.open(page)) == "crashLoop")
    }
    // Another build of the app is another chance.
    do { #expect(try await ask(try await restarted { $0.build = "2" }, script) == "200 let one") }
    // And so is another policy.
    let runtime = try await restarted()
    #expect(try await ask(runtime, script) == "crashLoop")
    let policy = #"{"code":200,"data":{"version":"1","intercept":true,"bypass":[],"scripts":[]}}"#
    origin.serve(bytes(policy), at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    origin.say(#","policy":"1""#)
    await runtime.update(force: true)
    #expect(try await ask(runtime, script) == "200 let one")
  }

  @Test func badSettingsAreThrown() async throws {
    await #expect(throws: ClientError.self) {
      _ = try await runtime { $0.device.hosts = [] }
    }
  }
}
