import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice
@testable import XCacheRuntime

/// The error samples that a runtime makes of pages that fail, and when it sends them.
@Suite struct SampleTests {
  private static let other = "https://m.test/orders/20261130/"
  private let bench: RuntimeBench

  init() throws {
    bench = try RuntimeBench()
    try bench.origin.publish(
      [RuntimeBench.page: bytes("<p>one"), RuntimeBench.script: bytes("let one"), Self.other: bytes("<p>o")],
      version: 1)
  }

  private func launched(_ change: (inout RuntimeSettings) -> Void = { _ in }) async throws -> Runtime {
    let runtime = try await bench.runtime(change)
    await runtime.handle(.launch)
    _ = bench.origin.takeTold()
    return runtime
  }

  private func shown(_ runtime: Runtime, _ url: String = RuntimeBench.page) async throws -> OpenPage {
    let page = runtime.open(url)
    _ = try await bench.ask(runtime, url, destination: .document, page: page)
    return page
  }

  /// The samples that were sent since the last call, as JSON texts.
  private func sent(_ runtime: Runtime) -> [String] {
    runtime.device?.finishReports(milliseconds: 60_000)
    return bench.origin.takeTold().map(\.document).filter { $0["sample"] != nil }.map {
      String(decoding: $0.canonical, as: UTF8.self)
    }
  }

  private static func report(
    _ kind: String, _ message: String, _ page: String = RuntimeBench.page, stack: String = "[]",
    engine: String = "",
    version: Int = 1
  ) -> String {
    #"{"sample":{"engine":"\#(engine)","kind":"\#(kind)","message":"\#(message)","page":"\#(page)","stack":\#(stack)},"#
      + #""version":"\#(version)"}"#
  }

  @Test func aScriptThatFailsIsToldOnce() async throws {
    let runtime = try await launched()
    let page = try await shown(runtime)
    runtime.handleMessage("visible 3 WebKit 605.1", of: page, after: nil)
    let error =
      #"{"message":"TypeError: a","stack":"f@https://m.test/app.js:1:23\n[native code]\n@https://m.test/app.js:2:4"}"#
    runtime.handleMessage("failed 12 \(error)", of: page, after: 40)
    #expect(
      sent(runtime) == [
        Self.report(
          "script", "TypeError: a", stack: #"["f@https://m.test/app.js:1:23","@https://m.test/app.js:2:4"]"#,
          engine: "WebKit 605.1")
      ])
    // Neither another error of this page, nor the next page that fails.
    runtime.scriptFailed(page, PageError(message: "another"))
    runtime.scriptFailed(try await shown(runtime), PageError(message: "another"))
    #expect(sent(runtime) == [])
    runtime.scriptFailed(try await shown(runtime, Self.other), PageError(message: "another"))
    #expect(sent(runtime) == [Self.report("script", "another", Self.other, engine: "WebKit 605.1")])
  }

  /// A message of an older script has no error, and counts all the same.
  @Test(arguments: ["failed 12", "failed 12 ", "failed 12 {", "failed 12 []", #"failed 12 {"message":5}"#])
  func anErrorThatIsNotKnownIsToldInFixedWords(message: String) async throws {
    let runtime = try await launched()
    runtime.handleMessage(message, of: try await shown(runtime), after: nil)
    #expect(sent(runtime) == [Self.report("script", "A script of the page failed.")])
    #expect(runtime.state.withLock { $0.tally.counts[.scriptFailed] } == 1)
  }

  @Test func pagesThatDidNotFailMakeNone() async throws {
    let runtime = try await launched()
    let error = PageError(message: "x")
    let up = try await shown(runtime)
    runtime.pageCameUp(up)
    runtime.scriptFailed(up, error)
    runtime.scriptFailed(try await shown(runtime, "https://m.test/none.html"), error)
    let hidden = try await shown(runtime)
    runtime.reached(.load, hidden, after: 5)
    runtime.setHidden(true, hidden)
    runtime.scriptFailed(hidden, error)
    runtime.processEnded(hidden)
    let rejected = try await shown(runtime)
    runtime.promiseFailed(rejected, error)
    runtime.pageCameUp(rejected)
    runtime.close(rejected)
    #expect(sent(runtime) == [])
  }

  @Test func anEndedProcessIsTold() async throws {
    let runtime = try await launched()
    runtime.processEnded(try await shown(runtime))
    #expect(sent(runtime) == [Self.report("process", "The process that showed the page ended.")])
  }

  @Test(arguments: [nil, "", "Error: no"])
  func aPageThatDoesNotComeUpIsToldWithItsRejection(message: String?) async throws {
    let runtime = try await launched { $0.pageDeadline = 200 }
    var told: [String] = []
    // The deadline of a page may pass before its document is answered.
    for _ in 0..<50 where told.isEmpty {
      let page = try await shown(runtime)
      if let message {
        runtime.promiseFailed(page, PageError(message: message, stack: "f@https://m.test/app.js:1:2"))
      }
      runtime.promiseFailed(page, PageError(message: "the second"))
      while runtime.state.withLock({ $0.pages[page.id]?.isDecided == false }) {
        try await Task.sleep(for: .milliseconds(5))
      }
      told = sent(runtime)
    }
    let stack = #"["f@https://m.test/app.js:1:2"]"#
    let wanted =
      switch message {
      case nil: Self.report("rejection", "the second")
      case "": Self.report("rejection", "A promise was rejected, and nothing handled it.", stack: stack)
      case let message?: Self.report("rejection", message, stack: stack)
      }
    #expect(told == [wanted])
  }

  @Test func aPageThatSaysNothingIsTold() async throws {
    let runtime = try await launched { $0.pageDeadline = 200 }
    var told: [String] = []
    for _ in 0..<50 where told.isEmpty {
      let page = try await shown(runtime)
      while runtime.state.withLock({ $0.pages[page.id]?.isDecided == false }) {
        try await Task.sleep(for: .milliseconds(5))
      }
      told = sent(runtime)
    }
    #expect(told == [Self.report("page", "The page did not come up in time.")])
  }

  /// What is listed keeps its path, everything else loses what may be a person's.
  @Test func whatMayNameAPersonIsStripped() async throws {
    let runtime = try await launched()
    let page = try await shown(runtime, "\(Self.other)?customer=ann#top")
    runtime.scriptFailed(
      page,
      PageError(
        message:
          "no order 12345678 of ann@m.test\nat \(Self.other)?token=abc or https://m.test/orders/12345678/",
        stack: """
          Error: 12345678
              at async load (xcache-https://m.test/app.js?id=7:1:2)
              at https://m.test/users/12345678/x.js:3:4
              at Object.f (blob:https://m.test/6f1c:5:6)
          """))
    #expect(
      sent(runtime) == [
        Self.report(
          "script", "no order <n> of <email> at \(Self.other)?token= or https://m.test/orders/*/", Self.other,
          stack:
            #"["load@https://m.test/app.js?id=:1:2","@https://m.test/users/*/x.js:3:4","Object.f@blob::5:6"]"#
        )
      ])
  }

  @Test func oneVersionMakesSixteenAndTheNextOneItsOwn() async throws {
    let pages = (10..<30).map { "https://m.test/\($0).html" }
    let first = Dictionary(uniqueKeysWithValues: pages.map { ($0, bytes("<p>one")) })
    try bench.origin.publish(first)
    let runtime = try await launched()
    for url in pages { runtime.scriptFailed(try await shown(runtime, url), PageError(message: url)) }
    #expect(sent(runtime) == pages.prefix(16).map { Self.report("script", $0, $0, version: 2) })
    try bench.origin.publish([pages[0]: bytes("<p>two")])
    await runtime.update(force: true)
    runtime.scriptFailed(try await shown(runtime, pages[0]), PageError(message: "again"))
    #expect(sent(runtime) == [Self.report("script", "again", pages[0], version: 3)])
  }

  @Test func theOriginSwitchesThemOffAndOn() async throws {
    bench.origin.say(#","samples":0"#)
    let runtime = try await launched()
    runtime.scriptFailed(try await shown(runtime), PageError(message: "off"))
    // A poll that fails says nothing else.
    bench.origin.fail { $0.contains("configure.json") ? .status(500) : nil }
    await runtime.update(force: true)
    runtime.processEnded(try await shown(runtime, Self.other))
    bench.origin.fail(nil)
    bench.origin.say("")
    await runtime.update(force: true)
    #expect(sent(runtime) == [], "nothing from before")
    runtime.scriptFailed(try await shown(runtime, Self.other), PageError(message: "on"))
    #expect(sent(runtime) == [Self.report("script", "on", Self.other)])
  }

  /// At the start nobody has said whether samples are wanted.
  @Test(arguments: ["", #","samples":0"#])
  func whatFailsBeforeThePollWaitsForIt(members: String) async throws {
    await (try await launched()).close()
    bench.origin.say(members)
    let runtime = try await bench.runtime()
    runtime.scriptFailed(try await shown(runtime), PageError(message: "early"))
    #expect(sent(runtime) == [])
    await runtime.update(force: true)
    #expect(sent(runtime) == (members.isEmpty ? [Self.report("script", "early")] : []))
  }

  @Test func nothingIsToldOffline() async throws {
    let runtime = try await launched()
    runtime.conditions.network = .offline
    runtime.scriptFailed(try await shown(runtime), PageError(message: "later"))
    #expect(sent(runtime) == [])
    runtime.conditions.network = .unmetered
    await runtime.update(force: true)
    #expect(sent(runtime) == [Self.report("script", "later")])
  }

  /// The static copy takes none, and neither does anybody while a device is on it.
  @Test func nothingIsToldOnTheStaticCopy() async throws {
    let runtime = try await launched { $0.device.fallback = FakeOrigin.mirror }
    bench.origin.fail { $0.hasPrefix(FakeOrigin.server) ? .status(500) : nil }
    for _ in 0..<6 { await runtime.update(force: true) }
    runtime.scriptFailed(try await shown(runtime), PageError(message: "x"))
    #expect(sent(runtime) == [])
  }

  @Test func aClosedRuntimeMakesNone() async throws {
    let runtime = try await launched()
    let page = try await shown(runtime)
    await runtime.close()
    runtime.scriptFailed(page, PageError(message: "x"))
    #expect(sent(runtime) == [])
  }

  @Test func theEngineIsANameAndItsMajorVersion() async throws {
    let runtime = try await launched()
    for (given, kept) in [
      ("WebKit 605.1", "WebKit 605.1"), ("Chromium 141.0.7390.54", "Chromium 141"), ("1", ""),
      ("Mozilla/5.0 (ann's phone)", "Mozilla"),
      (String(repeating: "x", count: 900), String(repeating: "x", count: 64)),
    ] {
      runtime.engine = given
      #expect(runtime.engine == kept)
    }
  }
}
