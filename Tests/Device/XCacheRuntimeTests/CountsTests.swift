import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

private let page = "https://m.test/index.html"
private let script = "https://m.test/app.js"

/// What a runtime counts and sends to its origin.
@Suite struct CountsTests {
  private let bench: Bench
  private var origin: FakeOrigin { bench.origin }

  init() throws {
    bench = try Bench()
    try origin.publish([page: bytes("<p>one"), script: bytes("let one")])
  }

  private func runtime() async throws -> Runtime {
    var device = bench.settings()
    device.hosts = ["m.test"]
    let runtime = try await Runtime(RuntimeSettings(device), transport: origin)
    await runtime.handle(.launch)
    return runtime
  }

  private func ask(_ runtime: Runtime, _ url: String, _ page: OpenPage? = nil) async {
    let destination: PageRequest.Destination = url == page?.url ? .document : .other
    _ = await runtime.answer(PageRequest(url, destination: destination, page: page))
  }

  /// The batches that were sent.
  private func batches(_ runtime: Runtime) throws -> [String] {
    let device = try #require(runtime.device)
    device.finishReports(milliseconds: 60_000)
    return origin.takeTold().filter { $0.document["counts"] != nil }.map {
      String(decoding: $0.document.canonical, as: UTF8.self)
    }
  }

  @Test func closedPagesSendABatchOnceInAWhile() async throws {
    let runtime = try await runtime()
    let open = runtime.open(page)
    await ask(runtime, page, open)
    await ask(runtime, script, open)
    await ask(runtime, "https://m.test/none.js", open)
    await ask(runtime, "https://bank.test/", open)
    runtime.passed(PageRequest("https://m.test/none.js", page: open), status: 404)
    runtime.passed(PageRequest("https://m.test/none.js", page: open), status: 0)
    runtime.passed(PageRequest("https://bank.test/", page: open), status: 200)
    runtime.lostBody(PageRequest("https://m.test/api", method: "POST", page: open))
    runtime.reached(.firstPaint, open, after: 200)
    runtime.reached(.firstPaint, open, after: 9_000)
    runtime.reached(.load, open, after: 900)
    runtime.pageCameUp(open)
    #expect(try batches(runtime) == [])
    runtime.close(open)
    runtime.reached(.load, open, after: 1)
    #expect(
      try batches(runtime) == [
        #"{"counts":{"body-lost":1,"load-local-1024":1,"local":2,"paint-local-256":1,"passed":1,"#
          + #""status-4xx":1,"status-error":1},"version":"1"}"#
      ])
    let next = runtime.open(page)
    await ask(runtime, page, next)
    runtime.close(next)
    #expect(try batches(runtime) == [], "at most one in two minutes")
    // The rest is sent with the version under which it was counted.
    try origin.publish([page: bytes("<p>two")])
    await runtime.update(force: true)
    #expect(try batches(runtime) == [#"{"counts":{"local":1},"version":"1"}"#])
    await ask(runtime, page, runtime.open(page))
    #expect(runtime.state.withLock { $0.tally.counts[.local] } == 1)
  }

  /// A view may live for hours and navigate: times are those of the navigation, not of the view.
  /// from its beginning.
  @Test func timesAreOfTheNavigation() async throws {
    let runtime = try await runtime()
    for (since, message) in [
      (nil, "painted 200"), (nil, "loaded 400"), (700, "painted 200"), (1_500, "loaded 400"),
      (nil, "painted"), (nil, "painted x"), (nil, "painted -1"), (nil, "unknown 1"), (100, "painted"),
    ] as [(Int64?, String)] {
      let open = runtime.open(page)
      await ask(runtime, page, open)
      runtime.handleMessage(message, of: open, after: since)
    }
    let counts = runtime.state.withLock { $0.tally.counts }
    #expect(
      Dictionary(uniqueKeysWithValues: counts.all.map { ($0.count.name, $0.times) }) == [
        "local": 9, "paint-local-256": 1, "load-local-512": 1, "paint-local-1024": 1, "load-local-2048": 1,
      ])
  }

  @Test func failedPagesAndDamagedFilesAreCounted() async throws {
    await (try await runtime()).close()
    let folder = "\(bench.settings().folder)/files"
    for name in try Folder.textNames(folder) {
      try DurableFile.write(bytes("damaged"), to: "\(folder)/\(name)")
    }
    let runtime = try await runtime()
    await runtime.update(force: true)
    let open = runtime.open(page)
    await ask(runtime, page, open)
    runtime.scriptFailed(open)
    runtime.scriptFailed(open)
    let network = runtime.open("https://m.test/other.html")
    await ask(runtime, network.url, network)
    runtime.scriptFailed(network)
    runtime.close(open)
    #expect(
      try batches(runtime) == [
        #"{"counts":{"damaged":1,"local":1,"passed":1,"script-failed":1},"version":"1"}"#
      ]
    )
  }

  @Test func nothingIsSentIfTheOriginAsksForNoneOrFails() async throws {
    origin.say(#","reports":0"#)
    let runtime = try await runtime()
    let open = runtime.open(page)
    await ask(runtime, page, open)
    runtime.close(open)
    #expect(try batches(runtime) == [], "the origin asks for none")

    origin.fail { $0.contains("configure.json") ? .status(500) : nil }
    await runtime.update(force: true)
    #expect(runtime.device?.takesBatches == false)
    let next = runtime.open(page)
    await ask(runtime, page, next)
    runtime.close(next)
    #expect(runtime.state.withLock { $0.tally.counts[.local] } == 1, "it waits for an origin that answers")
  }

  /// Where a shared cache takes the polls, they are counted with everything else, and nothing is written for it.
  @Test func pollsAreInTheBatches() async throws {
    origin.say(#","edge":10"#)
    let runtime = try await runtime()
    #expect(try batches(runtime) == [], "its poll named no version")
    await runtime.update(force: true)
    #expect(try batches(runtime) == [#"{"counts":{"polls":1},"version":"1"}"#])
    await runtime.update(force: true)
    await ask(runtime, page, runtime.open(page))
    try origin.publish([page: bytes("<p>two")])
    await runtime.update(force: true)
    #expect(try batches(runtime) == [#"{"counts":{"local":1,"polls":2},"version":"1"}"#])
    origin.say("")
    await runtime.update(force: true)
    await runtime.close()
    #expect(try batches(runtime) == [])
  }

  @Test func batchesBetweenPollsSayThatThereWereNone() async throws {
    origin.say(#","edge":10"#)
    let runtime = try await runtime()
    await runtime.update(force: true)
    #expect(try batches(runtime) == [#"{"counts":{"polls":1},"version":"1"}"#])
    await ask(runtime, page, runtime.open(page))
    await runtime.close()
    #expect(try batches(runtime) == [#"{"counts":{"local":1,"polls":0},"version":"1"}"#])
  }

  @Test func tallyMakesFewBatches() throws {
    var tally = Tally(version: "0")
    tally.add(.passed, holding: "0")
    #expect(tally.take(at: 0, holding: "1").isEmpty, "nothing was held")
    #expect(tally.counts.isEmpty)
    #expect(tally.take(at: 5, holding: "1").isEmpty)
    tally.add(.local, holding: "1")
    #expect(tally.take(at: 10, holding: "1").map { $0.counts[.local] } == [1])
    tally.add(.local, holding: "1")
    #expect(tally.take(at: 9 + Tally.pause, holding: "1").isEmpty)
    #expect(tally.take(at: 10 + Tally.pause, holding: "1").map(\.version) == [ManifestVersion(1)])
    tally.add(.local, holding: "1")
    #expect(tally.take(at: 11 + Tally.pause, holding: "1", isLast: true).count == 1)
    tally.add(.local, holding: "1")
    #expect(tally.take(at: 12 + Tally.pause, holding: "2").map(\.version) == [ManifestVersion(1)])
    #expect(tally.take(at: .max, holding: "2").isEmpty)
  }

  /// Else an origin would take it for a batch of a device that doesn't count them.
  @Test func batchesSayHowManyPollsThereWere() throws {
    var tally = Tally(version: "1")
    #expect(tally.take(at: 0, holding: "1", isLast: true, countsPolls: true).isEmpty, "nothing happened")
    tally.add(.local, holding: "1")
    tally.add(.polls, holding: "2")
    let batches = tally.take(at: 0, holding: "2", countsPolls: true)
    #expect(
      batches.map(\.body) == [
        bytes(#"{"counts":{"local":1,"polls":0},"version":"1"}"#),
        bytes(#"{"counts":{"polls":1},"version":"2"}"#),
      ])
    // It is the time of the batch that counts, and not when something happened.
    tally.add(.local, holding: "2")
    #expect(tally.take(at: 1, holding: "2", countsPolls: true).isEmpty, "none is due")
    let last = tally.take(at: 2, holding: "2", isLast: true)
    #expect(last.map(\.body) == [bytes(#"{"counts":{"local":1},"version":"2"}"#)])
  }

  /// Pages may send requests between an update's switch and its end.
  @Test func countsBelongToTheVersionThatWasHeld() throws {
    var tally = Tally(version: "0")
    tally.add(.passed, holding: "0")
    for _ in 0..<5 { tally.add(.local, holding: "1") }
    tally.add(.local, holding: "2")
    let batches = tally.take(at: 0, holding: "2")
    #expect(batches.map(\.version) == [ManifestVersion(1), ManifestVersion(2)])
    #expect(batches.map { $0.counts[.local] } == [5, 1] && batches.allSatisfy { $0.counts[.passed] == 0 })
    for version in 3...9 { tally.add(.local, holding: "\(version)") }
    #expect(tally.take(at: 1, holding: "10").count == 4)
  }
}
