import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// `load`, `reload`, `goBack` and `goForward` return in every case.
  @Suite(.serialized)
  @WebActor
  struct LoadingTests {
    /// The outcome of an operation, which may take 20 s.
    private func end(_ body: @escaping @WebActor () async throws -> Void) async -> String {
      await outcome(within: 20, body)
    }

    /// An operation on a page, a script to run before, and the page's location and history length after.
    struct Step: Sendable, CustomTestStringConvertible {
      let name: String
      var script = ""
      let act: @WebActor @Sendable (WebPage, Sites) async throws -> Void
      let place: String
      var testDescription: String { name }
    }

    private nonisolated static let steps = [
      Step(
        name: "a fragment", act: { try await $0.load($1.url("/second.html#x")) }, place: "/second.html#x 2"),
      Step(
        name: "a fragment that is written in another way",
        act: { try await $0.load($1.url("/./second.html#ä").replacing("m.example", with: "M.Example")) },
        place: "/second.html#%C3%A4 2"),
      Step(
        name: "back from a fragment", script: "location.hash = 'x'",
        act: { page, _ in try await page.goBack() },
        place: "/second.html 2"),
      Step(
        name: "back from a state", script: "history.pushState(1, '', '/other')",
        act: { page, _ in try await page.goBack() }, place: "/second.html 2"),
      Step(
        name: "back and forward", script: "history.pushState(1, '', '/other')",
        act: { page, _ in
          try await page.goBack()
          try await page.goForward()
        }, place: "/other 2"),
      Step(
        name: "back in a frame",
        script: """
          const frame = document.createElement('iframe');
          // A navigation during a document's load replaces its history entry.
          const loaded = () => new Promise(done => { frame.onload = () => setTimeout(done, 100) });
          frame.src = '/frame.html';
          document.body.append(frame);
          await loaded();
          frame.contentWindow.location.href = '/frame.html?2';
          await loaded();
          """,
        act: { page, _ in try await page.goBack() }, place: "/second.html 2"),
      Step(name: "back to nothing", act: { page, _ in try await page.goBack() }, place: "/second.html 1"),
      Step(
        name: "forward to nothing", act: { page, _ in try await page.goForward() }, place: "/second.html 1"),
    ]

    /// WebKit starts no load for navigation within a document, and reports no end.
    @Test(arguments: steps) func navigationWithinADocumentReturns(_ step: Step) async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let shown = page.shown
      _ = try await page.evaluate("window.kept = 1; \(step.script); return 1")
      #expect(await end { try await step.act(page, sites) } == "done")
      #expect(
        try await page.evaluate(
          "return [window.kept, location.pathname + location.hash + ' ' + history.length]")
          == #"[1,"\#(step.place)"]"#)
      // No page is opened.
      #expect(page.shown == shown && page.opening == nil)
      await app.end()
    }

    @Test func reloadWithoutAPageReturns() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      #expect(await end { try await page.reload() } == "done")
      try await page.load(sites.url("/second.html"))
      try await page.reload()
      #expect(try await page.evaluate("return document.title") == "\"second\"")
      await app.end()
    }

    /// As by the retry button of an app that was started offline.
    @Test(arguments: [false, true]) func reloadRepeatsAFailedLoad(inPlaceOfBlank: Bool) async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let url = sites.url("/api/slow?pause=0")
      let pool = PagePool(app.host, .init(site: sites.url("")))
      if inPlaceOfBlank { await pool.fill() }
      let page = try pool.page(for: url)
      #expect(page.isBlank == inPlaceOfBlank)
      try sites.tell("stop")
      #expect(await end { try await page.load(url) } != "done")
      #expect(!["done", "never"].contains(await end { try await page.reload() }))
      try sites.tell("start")
      #expect(await end { try await page.reload() } == "done")
      #expect(try await page.evaluate("return [document.title, history.length]") == #"["slow",1]"#)
      await app.end()
    }

    /// Unlike a failed load, a cancelled one isn't repeated.
    @Test func reloadDoesNotRepeatACancelledLoad() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      var hasEnded = false
      page.onEvent = { if $0 == .finished { hasEnded = true } }
      let loading = Task { try await page.load(sites.url("/api/hang")) }
      #expect(try await app.until { try sites.log().contains("GET m.example.com/api/hang") })
      loading.cancel()
      await #expect(throws: CancellationError.self) { try await loading.value }
      #expect(await app.until { hasEnded })
      #expect(await end { try await page.reload() } == "done")
      #expect(try sites.log() == [])
      await app.end()
    }

    @Test func javaScriptURLsAreRejected() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let pool = PagePool(app.host, .init(site: sites.url("")))
      await pool.fill()
      let pages = [try WebPage(app.host), try pool.page(for: sites.url("/second.html"))]
      try await pages[0].load(sites.url("/second.html"))
      for page in pages {
        let shown = page.url
        for script in ["javascript:window.ran = 1", " JavaScript:window.ran = 1"] {
          #expect(
            await end { try await page.load(script) }
              == "\(script): a script isn't a page; use `evaluate`"
          )
        }
        #expect(try await page.evaluate("return typeof ran") == "\"undefined\"")
        #expect(page.url == shown)
      }
      await app.end()
    }

    /// The page loads frames and calls `replaceState` while another page is loading.
    @Test func activityOfThePageDoesNotEndALoad() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html#x"))
      _ = try await page.evaluate(
        """
        let count = 0;
        setInterval(() => { if (count++ < 80) history.replaceState(count, '') }, 1);
        setInterval(() => {
          const frame = document.createElement('iframe');
          frame.src = '/frame.html';
          document.body.append(frame);
          setTimeout(() => frame.remove(), 50);
        }, 20);
        return 1
        """)
      #expect(await end { try await page.load(sites.url("/api/slow?pause=1#x")) } == "done")
      #expect(try await page.evaluate("return document.title") == "\"slow\"")
      await app.end()
    }

    /// WebKit cancels the pending load when the page navigates to a fragment; if the load hasn't started, it reports
    /// nothing.
    @Test(arguments: [1, 300]) func fragmentNavigationCancelsALoad(every milliseconds: Int) async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html#x"))
      _ = try await page.evaluate(
        """
        let count = 0;
        setInterval(() => { if (count < 80) location.hash = ++count % 2 ? 'y' : 'x' }, \(milliseconds));
        return 1
        """)
      let outcome = await end {
        do {
          try await page.load(sites.url("/api/slow?pause=2#x"))
        } catch let error as WebKitError where error.isCancelled { throw WebKitError("cancelled") }
      }
      #expect(outcome == "cancelled")
      #expect(try await page.evaluate("return document.title") == "\"second\"")
      await app.end()
    }

    // MARK: Dialogs

    @Test func dialogsOfAHiddenPageAreDismissed() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      for (question, answer) in [
        ("alert('x')", "null"), ("confirm('x')", "false"), ("prompt('x')", "null"), ("print()", "null"),
      ] {
        let said = try? await page.evaluate(
          "return await new Promise(done => setTimeout(() => done(\(question) ?? null), 0))",
          timeout: .seconds(10))
        #expect(said == answer, "\(question)")
      }
      let chosen = try? await page.evaluate(
        """
        const input = Object.assign(document.createElement('input'), {type: 'file'});
        document.body.append(input);
        const end = new Promise(done => { input.oncancel = () => done('none'); input.onchange = () => done('one') });
        input.click();
        return await Promise.race([end, new Promise(done => setTimeout(() => done('waits'), 5000))]);
        """)
      #expect(chosen == "\"none\"")
      // A beforeunload dialog, which needs user interaction first.
      _ = try await page.evaluate(
        "onbeforeunload = event => { event.preventDefault(); return 'x' }; document.body.click(); return 1")
      #expect(await end { try await page.load(sites.url("/frame.html")) } == "done")
      #expect(try await page.evaluate("return document.title") == "\"frame\"")
      // A server that asks for a password.
      #expect(await end { try await page.load(sites.url("/api/private")) } == "done")
      #expect(try await page.evaluate("return document.title") == "\"private\"")
      #expect(await end { try await page.load(sites.url("/second.html")) } == "done")
      await app.end()
    }
  }
}
