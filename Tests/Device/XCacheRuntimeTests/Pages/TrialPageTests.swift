import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice
@testable import XCacheRuntime

/// Pages of a version that hasn't proved itself.
@Suite struct TrialPageTests {
  let bench: RuntimeBench

  init() throws { bench = try RuntimeBench() }

  private func runtime(_ change: @escaping (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime
  {
    try await bench.runtime {
      $0.build = "1"
      change(&$0)
    }
  }

  /// A runtime that holds the second version on trial.
  private func switched(_ change: @escaping (inout RuntimeSettings) -> Void = { _ in }) async throws
    -> Runtime
  {
    let runtime = try await runtime(change)
    await runtime.update(force: true)
    try bench.origin.publish([RuntimeBench.page: bytes("<p>two"), RuntimeBench.script: bytes("let two")])
    await runtime.update(force: true)
    #expect(runtime.version == "2")
    return runtime
  }

  private func shown(_ runtime: Runtime, _ text: String = "two", url: String = RuntimeBench.page) async throws
    -> OpenPage
  {
    let page = runtime.open(url)
    #expect(try await bench.ask(runtime, url, destination: .document, page: page) == "200 <p>\(text)")
    return page
  }

  private func fails(_ runtime: Runtime, _ text: String = "two") async throws {
    let page = try await shown(runtime, text)
    runtime.scriptFailed(page)
    runtime.close(page)
    await runtime.finishNotes()
  }

  private var saved: TrialState? {
    (try? DurableFile.read("\(bench.folder)/trial.json")).flatMap { TrialState(saved: $0) }
  }

  @Test func twoFailuresLeadBackAndAreTold() async throws {
    let runtime = try await switched()
    let events = runtime.events
    try await fails(runtime)
    #expect(runtime.version == "2")
    try await fails(runtime)
    #expect(runtime.version == "1")
    _ = bench.origin.takeTold()
    let page = try await shown(runtime, "one", url: RuntimeBench.page)
    runtime.pageCameUp(page)
    await runtime.finishNotes()
    runtime.device?.finishReports()
    let told = bench.origin.takeTold().map(\.document).filter { $0["reason"] != nil }
    #expect(
      told == [
        ["cause": "page", "reason": "returned", "url": .string(RuntimeBench.page), "version": "2"]
      ])
    await runtime.close()
    var returned: [String] = []
    for await event in events {
      if case .returned(let from, let to, let cause, _) = event { returned.append("\(from) \(to) \(cause)") }
    }
    #expect(returned == ["2 1 page"])
  }

  /// An engine's process that ends with the page is a failure; not if nobody saw it, or the page had come up.
  @Test func anEndedProcessOfTheEngineIsAFailure() async throws {
    let runtime = try await switched()
    for number in 1...2 {
      let page = try await shown(runtime)
      if number == 1 { runtime.setHidden(true, page) } else { runtime.conditions.isForeground = false }
      runtime.processEnded(page)
      runtime.close(page)
    }
    runtime.conditions.isForeground = true
    await runtime.finishNotes()
    #expect(saved?.trial?.failures == 0)
    for _ in 1...2 {
      #expect(runtime.version == "2")
      let page = try await shown(runtime)
      runtime.processEnded(page)
      runtime.close(page)
      await runtime.finishNotes()
    }
    #expect(runtime.version == "1")
    let page = try await shown(runtime, "one")
    runtime.pageCameUp(page)
    runtime.processEnded(page)
    await runtime.finishNotes()
    #expect(saved?.skip?.isAwaited == false)
    await runtime.close()
  }

  /// A busy device: pages come up after their deadline.
  @Test func aLatePageIsNoReasonToGoBack() async throws {
    let runtime = try await switched { $0.pageDeadline = 50 }
    let page = try await shown(runtime)
    while saved?.trial?.failures != 1 { try await Task.sleep(for: .milliseconds(5)) }
    runtime.pageCameUp(page)
    await runtime.finishNotes()
    #expect(saved?.trial?.failures == 0 && saved?.trial?.isUp == true)
    runtime.close(page)
    #expect(runtime.version == "2")
    await runtime.close()
  }

  /// The mark is on the disk when the document is answered.
  @Test func theMarkIsWrittenBeforeTheAnswer() async throws {
    let runtime = try await switched()
    #expect(saved?.mark == nil)
    let page = runtime.open(RuntimeBench.page + "?id=7")
    _ = try await bench.ask(runtime, RuntimeBench.page + "?id=7", destination: .document, page: page)
    #expect(saved?.mark?.url == RuntimeBench.page)
    // Two pages start, and one ends.
    let other = try await shown(runtime)
    runtime.close(other)
    await runtime.finishNotes()
    #expect(saved?.mark != nil)
    runtime.close(page)
    await runtime.finishNotes()
    #expect(saved?.trial != nil && saved?.mark == nil)
  }

  @Test func theMarkGoesWithTheForeground() async throws {
    let runtime = try await switched()
    _ = try await shown(runtime)
    runtime.changeConditions { $0.isForeground = false }
    await runtime.finishNotes()
    #expect(saved?.mark == nil)
    _ = try await shown(runtime)
    #expect(saved?.mark == nil)
    runtime.changeConditions { $0.isForeground = true }
    _ = try await shown(runtime)
    #expect(saved?.mark != nil)
    await runtime.close()
    #expect(saved?.trial != nil && saved?.mark == nil)
  }

  /// The app goes to the background while a mark is being written.
  @Test func theMarkGoesAlsoWhenItComesLate() async throws {
    let runtime = try await switched()
    for _ in 0..<50 {
      let page = runtime.open(RuntimeBench.page)
      async let answer = bench.ask(runtime, RuntimeBench.page, destination: .document, page: page)
      runtime.changeConditions { $0.isForeground = false }
      _ = try await answer
      await runtime.finishNotes()
      #expect(saved?.mark == nil)
      runtime.changeConditions { $0.isForeground = true }
      runtime.close(page)
    }
  }

  /// Engines don't paint in the background: what doesn't come up there hasn't failed.
  @Test func deadlinesWaitForTheForeground() async throws {
    let runtime = try await switched { $0.pageDeadline = 50 }
    runtime.changeConditions { $0.isForeground = false }
    _ = try await shown(runtime)
    try await Task.sleep(for: .milliseconds(150))
    await runtime.finishNotes()
    #expect(saved?.trial?.failures == 0)
    runtime.changeConditions { $0.isForeground = true }
    // Now it has the whole time again.
    while saved?.trial?.failures != 1 { try await Task.sleep(for: .milliseconds(5)) }
  }

  /// A page that came up has proved its version when the process has lived for a while after.
  @Test func aVersionIsProvedAfterAWhile() async throws {
    let runtime = try await switched { $0.proofDelay = 20 }
    runtime.pageCameUp(try await shown(runtime))
    while runtime.device?.awaitsVerdict(of: "2") == true { try await Task.sleep(for: .milliseconds(5)) }
    await runtime.finishNotes()
    #expect(saved == nil)
    #expect(try Kernel.status("\(bench.folder)/previous.json") == nil)
    // From then on, pages write nothing.
    _ = try await shown(runtime)
    await runtime.finishNotes()
    #expect(try Kernel.status("\(bench.folder)/trial.json") == nil)
  }

  @Test func untilThenItIsNot() async throws {
    let runtime = try await switched()
    runtime.pageCameUp(try await shown(runtime))
    await runtime.finishNotes()
    #expect(saved?.trial?.isUp == true && saved?.mark != nil)
    await runtime.confirm()
    #expect(saved == nil)
    #expect(await !runtime.reject("too late"))
    #expect(runtime.version == "2")
  }

  @Test func theAppMayRejectIt() async throws {
    let runtime = try await switched()
    #expect(await runtime.reject("no checkout"))
    #expect(runtime.version == "1")
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
    #expect(await !runtime.reject())
  }

  /// An update that is at its downloads ends first: with a switch, or without one.
  @Test func updatesUnderWay() async throws {
    let runtime = try await switched()
    let barrier = Barrier()
    try bench.origin.publish([RuntimeBench.page: bytes("<p>three")])
    bench.origin.eachPiece { url in if url.hasPrefix("https://cdn.test/") { barrier.wait() } }
    let update = Task { await runtime.update(force: true, until: StopSignal()) }
    await barrier.reached()
    try await { () async throws in
      let page = try await shown(runtime)
      runtime.scriptFailed(page)
      let other = try await shown(runtime)
      runtime.scriptFailed(other)
    }()
    barrier.open()
    await runtime.finishNotes()
    _ = await update.value
    // Either the switch came first, or the return did.
    #expect(["1", "3"].contains(runtime.version))
  }

  @Test func aVersionWithoutAWayBackStays() async throws {
    let runtime = try await switched { $0.device.diskLimit = 3 * 4096 }
    for _ in 1...2 {
      let page = runtime.open(RuntimeBench.page)
      _ = try await bench.ask(runtime, RuntimeBench.page, destination: .document, page: page)
      runtime.scriptFailed(page)
      await runtime.finishNotes()
    }
    #expect(runtime.version == "2")
    #expect(runtime.state.withLock { $0.stuckVersion } == "2")
  }

  @Test func appsMayTurnItOff() async throws {
    let first = try await switched()
    await first.close()
    let runtime = try await runtime { $0.goesBack = false }
    #expect(saved == nil)
    #expect(try Kernel.status("\(bench.folder)/previous.json") == nil)
    try await fails(runtime)
    try await fails(runtime)
    #expect(runtime.version == "2")
  }
}
