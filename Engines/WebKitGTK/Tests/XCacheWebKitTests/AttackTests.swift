import Foundation
import Testing
import WebKitTestSupport

@testable import XCacheRuntime
@testable import XCacheWebKit

extension WebKitTests {
  /// WebKit's processes are killed at random moments.
  @Suite(.serialized)
  @WebActor
  struct KillAttackTests: Attacks {
    /// WebKit hasn't reported the end of the process yet.
    @Test func loadRightAfterAKillSucceeds() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      for round in 1...2 {
        for step in ["load", "fragment", "reload", "back"] {
          #expect(kill(Self.webProcess) == 1)
          // WebKit's main loop doesn't run in between.
          let end = await end(step) {
            switch step {
            case "load": try await page.load(sites.url("/frame.html"))
            case "fragment": try await page.load(sites.url("/frame.html#x"))
            case "reload": try await page.reload()
            default: try await page.goBack()
            }
          }
          #expect(end == "done", "\(step) \(round)")
          #expect(try await page.evaluate("return document.title") == "\"frame\"", "\(step) \(round)")
          #expect(registered(app) == 1)
        }
      }
      #expect(try sites.log() == [])
      await app.end()
    }

    /// A load's request may arrive after its web process was killed and its page was left; it stays registered for some
    /// seconds, with the manifest of that time. A page of the same URL that is requested after a switch doesn't use it.
    @Test func pageLeftBeforeASwitchDoesNotAffectTheNext() async throws {
      let sites = try Sites()
      try sites.tell("release 1")
      let app = try await App(sites)
      let proxy = try #require(app.host.proxy)
      let page = try WebPage(app.host)
      let url = sites.url("/v/page0.html")
      try await page.load(sites.url("/second.html"))
      let left = proxy.openUnannounced(url)
      _ = proxy.pages.recordAnswer(for: left, isShown: true)
      // Opened before the switch; its document is requested after it.
      _ = proxy.open(url)
      try sites.tell("release 2")
      _ = await app.runtime.update(force: true)
      _ = try await page.evaluate("setTimeout(() => { location.href = '\(url)' }, 0); return 1")
      #expect(
        await app.until {
          (try? await page.evaluate("return document.readyState + document.title")) == "\"completev2\""
        })
      #expect(try await isOfOneVersion(page, "after the switch") == 2)
      await app.end()
    }

    /// A process is killed at a random moment of a load, an update or a switch.
    @Test func killsDuringSwitchesLeavePagesConsistent() async throws {
      var dice = SplitMix(seed: 37)
      let sites = try Sites()
      try sites.tell("release 1")
      let app = try await App(sites)
      try app.trustSites()
      let runtime = app.runtime
      func url(_ number: Int) -> String { sites.url("/v/page\(number).html") }
      var page: WebPage? = try WebPage(app.host)
      var (kills, version, ends) = (0, 1, [String: Int]())
      _ = try sites.log()
      for round in 1...10 * Self.times {
        if page == nil { page = try WebPage(app.host) }
        guard let view = page else { continue }
        var updating: Task<Void, Never>?
        if round % 4 == 0 {
          version += 1
          try sites.tell("release \(version)")
          updating = Task { _ = await runtime.update(force: true) }
        }
        let number = dice.below(4)
        let isCheckingPage = dice.one(in: 3)
        if isCheckingPage { _ = await end("the load before \(round)") { try await view.load(url(number)) } }
        let loading = Task { @WebActor in
          await end("round \(round)") {
            if isCheckingPage { _ = try await look(at: view) } else { try await view.load(url(number)) }
          }
        }
        for _ in 0...dice.below(3) {
          try await Task.sleep(for: .milliseconds(dice.below(isCheckingPage ? 120 : 250)))
          kills += kill(dice.one(in: 2) ? Self.webProcess : Self.networkProcess)
        }
        ends[await loading.value, default: 0] += 1
        // The next load may begin before the switch and end after it.
        if dice.one(in: 2) { await updating?.value }
        let again = await end("the load after \(round)") { try await view.load(url(number)) }
        #expect(again == "done", "round \(round)")
        let seen = try await isOfOneVersion(view, "round \(round)")
        #expect(runtime.version != "0" && (seen == version || seen == version - 1), "round \(round)")
        await updating?.value
        let known = registered(app)
        #expect(known == 1, "round \(round): \(known)")
        if dice.one(in: 5) { page = nil }
      }
      Self.note("\(kills) kills, \(version) versions: \(ends)")
      page = nil
      #expect(await app.until { registered(app) == 0 })
      let asked = try sites.log()
      #expect(asked.filter { $0.contains("/v/") } == [])
      await app.end()
    }
  }
}
