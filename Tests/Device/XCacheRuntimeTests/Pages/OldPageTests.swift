import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// Pages that are still open after the device has switched to another version.
@Suite struct OldPageTests {
  let bench: RuntimeBench
  let runtime: Runtime
  let old: OpenPage

  init() async throws {
    bench = try RuntimeBench()
    runtime = try await bench.runtime()
    await runtime.handle(.launch)
    old = runtime.open(RuntimeBench.page)
    runtime.pageCameUp(old)
  }

  private func switches(_ files: [String: [UInt8]] = [RuntimeBench.page: bytes("<p>two")]) async throws {
    try bench.origin.publish(files)
    await runtime.update(force: true)
  }

  private func script() async throws -> String {
    try await bench.ask(runtime, RuntimeBench.script, page: old)
  }

  @Test func oldPagesGetFilesThatWereRemoved() async throws {
    try await switches()
    #expect(try await script() == "200 let one")
  }

  /// The script of the page's version, not the one that is listed under the same URL now.
  @Test func oldPagesGetTheFilesOfTheirVersion() async throws {
    try await switches([RuntimeBench.page: bytes("<p>two"), RuntimeBench.script: bytes("let two")])
    #expect(try await script() == "200 let one")
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let two")
    let new = runtime.open(RuntimeBench.page)
    #expect(try await bench.ask(runtime, RuntimeBench.script, page: new) == "200 let two")
    // A link, or a reload.
    #expect(
      try await bench.ask(runtime, RuntimeBench.page, destination: .document, page: old) == "200 <p>two")
    #expect(try await script() == "200 let two")
  }

  @Test func missingOldFilesAreAnsweredAsListedNow() async throws {
    try await switches([RuntimeBench.page: bytes("<p>two"), RuntimeBench.script: bytes("let two")])
    let aside = "\(bench.folder)/aside"
    for name in try Folder.textNames(aside) { try Kernel.remove("\(aside)/\(name)") }
    #expect(try await script() == "200 let two")
  }

  @Test(arguments: [("If-None-Match", "*", 304), ("Range", "bytes=99-", 416)])
  func answersWithoutABodyHaveNoFile(name: String, value: String, status: Int) async throws {
    try await switches()
    let answer = await runtime.answer(PageRequest(RuntimeBench.script, headers: [(name, value)], page: old))
    guard case .local(let local) = answer, case .empty = local.body else {
      Issue.record("\(answer)")
      return
    }
    #expect(local.status == status)
  }

  @Test func damagedOldFilesAreCounted() async throws {
    try await switches()
    let aside = "\(bench.folder)/aside"
    for name in try Folder.textNames(aside) {
      try DurableFile.write(bytes("let two"), to: "\(aside)/\(name)")
    }
    #expect(try await script() == "notListed")
    #expect(runtime.device?.takeDamage() == 1)
    // It was removed, and isn't counted again.
    #expect(try await script() == "notListed")
    #expect(runtime.device?.takeDamage() == 0)
  }

  @Test func killEndsAnswersForOldPages() async throws {
    try await switches()
    bench.serve(policy: 1, #""intercept":false,"bypass":[]"#)
    await runtime.update(force: true)
    #expect(try await script() == "killed")
  }

  @Test func bypassEndsAnswersForOldPages() async throws {
    try await switches()
    bench.serve(policy: 1, #""intercept":true,"bypass":["\#(RuntimeBench.page)"]"#)
    await runtime.update(force: true)
    #expect(try await script() == "bypassed")
  }

  @Test func rollbacksEndItForListedFilesToo() async throws {
    try await switches([RuntimeBench.page: bytes("<p>two"), RuntimeBench.script: bytes("let two")])
    #expect(try await script() == "200 let one")
    bench.origin.say(#","rollback":"3""#)
    try await switches([RuntimeBench.page: bytes("<p>three"), RuntimeBench.script: bytes("let three")])
    #expect(try await script() == "200 let three")
  }

  @Test func rollbacksEndIt() async throws {
    try await switches()
    bench.origin.say(#","rollback":"3""#)
    try await switches([RuntimeBench.page: bytes("<p>three")])
    #expect(try await script() == "notListed")
    // Pages opened since then get the new files.
    let new = runtime.open(RuntimeBench.page)
    #expect(
      try await bench.ask(runtime, RuntimeBench.page, destination: .document, page: new) == "200 <p>three")
  }
}
