import DeviceTestSupport
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// Pages that fail during a switch.
@Suite struct SwitchHealthTests {
  let bench: RuntimeBench
  let runtime: Runtime

  init() async throws {
    bench = try RuntimeBench()
    // The new version stays: what pages come to counts for it.
    runtime = try await bench.runtime { $0.goesBack = false }
    await runtime.handle(.launch)
  }

  private func load(_ page: OpenPage) async throws -> String {
    try await bench.ask(runtime, RuntimeBench.page, destination: .document, page: page)
  }

  private func fails(_ page: OpenPage) async throws {
    #expect(try await load(page) == "200 <p>two")
    runtime.scriptFailed(page)
    runtime.close(page)
  }

  /// The page was opened before the switch, but its document is the new version's.
  @Test func failuresCountForTheDocumentsVersion() async throws {
    let events = runtime.events
    let early = [runtime.open(RuntimeBench.page), runtime.open(RuntimeBench.page)]
    try bench.origin.publish([RuntimeBench.page: bytes("<p>two")])
    await runtime.update(force: true)
    for page in early { try await fails(page) }
    #expect(try await load(runtime.open(RuntimeBench.page)) == "pageFailed")
    await runtime.close()
    for await case .pageFailed(_, let version) in events { #expect(version == "2") }
  }

  /// The device has switched, but the update hasn't ended yet.
  @Test func failuresBeforeTheUpdateEndsCount() async throws {
    let device = try #require(runtime.device)
    try bench.origin.publish([RuntimeBench.page: bytes("<p>two")])
    _ = try device.update(force: true)
    for _ in 1...2 { try await fails(runtime.open(RuntimeBench.page)) }
    #expect(try await load(runtime.open(RuntimeBench.page)) == "pageFailed")
  }
}
