import DeviceTestSupport
import System
import Testing
import Values

@testable import XCacheDevice
@testable import XCacheRuntime

/// Pages while a rollout is open.
@Suite struct EvidencePageTests {
  let bench: RuntimeBench

  init() throws { bench = try RuntimeBench() }

  /// A runtime that holds the candidate.
  private func candidate() async throws -> Runtime {
    let runtime = try await bench.runtime { $0.build = "1" }
    await runtime.update(force: true)
    try bench.origin.publish([RuntimeBench.page: bytes("<p>two"), RuntimeBench.script: bytes("let two")])
    bench.origin.rollOut(2, full: 1)
    await runtime.update(force: true)
    #expect(runtime.version == "2")
    _ = bench.origin.takeTold()
    return runtime
  }

  private func shown(_ runtime: Runtime, _ url: String = RuntimeBench.page) async throws -> OpenPage {
    let page = runtime.open(url)
    _ = try await bench.ask(runtime, url, destination: .document, page: page)
    return page
  }

  private func told(_ runtime: Runtime) async -> [JSONValue] {
    await runtime.finishNotes()
    runtime.device?.finishReports()
    return bench.origin.takeTold().compactMap { $0.document["evidence"] }
  }

  private static let opened: JSONValue = ["arm": "candidate", "failed": 0, "opened": 1, "version": "2"]
  private static let failed: JSONValue = [
    "age": 0, "arm": "candidate", "failed": 1, "opened": 0, "version": "2",
  ]

  @Test func theFirstPageIsToldAndTheFirstFailure() async throws {
    let runtime = try await candidate()
    let page = try await shown(runtime)
    #expect(await told(runtime) == [Self.opened])
    // A part of a page is none.
    _ = try await bench.ask(runtime, RuntimeBench.script, page: page)
    runtime.pageCameUp(page)
    runtime.scriptFailed(page)
    #expect(await told(runtime) == [])
    runtime.scriptFailed(try await shown(runtime))
    runtime.scriptFailed(try await shown(runtime))
    #expect(await told(runtime) == [Self.failed])
  }

  /// Of a page that loads its document again nobody will know whether that came up.
  @Test func aPageThatLoadsAgainIsNoFirstOne() async throws {
    let runtime = try await bench.runtime { $0.build = "1" }
    await runtime.update(force: true)
    let page = try await shown(runtime)
    runtime.pageCameUp(page)
    try bench.origin.publish([RuntimeBench.page: bytes("<p>two"), RuntimeBench.script: bytes("let two")])
    bench.origin.rollOut(2, full: 1)
    await runtime.update(force: true)
    _ = try await bench.ask(runtime, RuntimeBench.page, destination: .document, page: page)
    #expect(await told(runtime) == [])
    _ = try await shown(runtime)
    #expect(await told(runtime) == [Self.opened])
  }

  /// The mark of the first page is the same in every version.
  @Test func aProcessThatEndedWhileItsFirstPageLoadedIsAFailure() async throws {
    let runtime = try await candidate()
    await runtime.close()
    var next = try await bench.runtime { $0.build = "1" }
    await next.update(force: true)
    _ = try await shown(next)
    #expect(await told(next) == [Self.opened])
    let mark = try #require(try DurableFile.read("\(bench.folder)/starting"))
    await next.close()
    try DurableFile.write(mark, to: "\(bench.folder)/starting")
    next = try await bench.runtime { $0.build = "1" }
    #expect(await told(next) == [])
    await next.update(force: true)
    #expect(await told(next) == [Self.failed])
    await next.close()
  }
}
