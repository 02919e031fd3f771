import Manifests
import System
import Testing

@testable import XCacheClient
@testable import XCacheRuntime

/// Files that are listed, and not there or not right.
@Suite struct MissingFileTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  /// The device's files whose name has `part`.
  private func files(_ part: String) throws -> [String] {
    try Folder.textNames("\(bench.folder)/files").filter { $0.contains(part) }.map {
      "\(bench.folder)/files/\($0)"
    }
  }

  /// However many requests wait for a server that hangs, what is here is answered from the disk.
  @Test func aServerThatHangsHoldsUpNobodyElse() async throws {
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

  /// Once nothing came for a page, the next ones don't wait for what isn't here.
  @Test func aLineThatBroughtNothingIsLeftAlone() async throws {
    let runtime = try await bench.runtime { $0.memoryLimit = 0 }
    await runtime.handle(.launch)
    for file in try files("m.test") { try Kernel.remove(file) }
    origin.fail { _ in .error(TransportError(.timedOut, "nothing came")) }
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "unavailable")
    #expect(bench.fetches() > 0)
    #expect(try await bench.ask(runtime, RuntimeBench.page, destination: .document) == "unavailable")
    #expect(bench.fetches() == 0)
  }

  /// Bytes that were checked, and written to behind the device's back.
  @Test func aFileThatWasWrittenToIsCheckedOnceMore() async throws {
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
