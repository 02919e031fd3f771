import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// What an engine does beside loading pages: policy, views that wait, what is killed, and who gets nothing.
  @Suite(.serialized)
  @WebActor
  struct EngineTests {
    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
    }

    /// Polls until the policy is another one: devices poll every 30 seconds at most.
    private func takePolicy(_ app: App) async throws {
      let events = app.runtime.events
      let polling = Task {
        while !Task.isCancelled {
          await app.runtime.handle(.push)
          try await Task.sleep(for: .milliseconds(500))
        }
      }
      for await event in events { if case .policyChanged = event { break } }
      polling.cancel()
    }

    @Test func theKillSwitchWhilePagesAreOpen() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      try app.host.trust(sites.told.certificate, for: "m.example.com")
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      #expect(try sites.log() == [])
      try sites.tell("run policy kill -m test")
      try await takePolicy(app)
      let before = app.runtime.counts
      try await page.reload()
      #expect(try await title(page) == "\"second\"")
      #expect(try sites.log().contains("GET m.example.com/second.html"))
      let after = app.runtime.counts
      #expect(after.memory + after.disk == before.memory + before.disk)
      await app.end()
    }

    @Test func aBypassedPageAndAForeignOne() async throws {
      let sites = try Sites()
      try sites.tell("run policy bypass add https://m.example.com:\(sites.told.port)/net/* -m test")
      let app = try await App(sites)
      var settings = WebPageSettings()
      settings.scripts = [UserScript("window.ours = true")]
      var heard: [String?] = []
      settings.messages["native"] = { heard.append($0) }
      settings.replies["ask"] = { _ in "1" }
      let own = try WebPage(app.host, settings)
      try await own.load(sites.url("/second.html"))
      _ = try await own.evaluate("webkit.messageHandlers.native.postMessage('own')")
      #expect(try await own.evaluate("return await webkit.messageHandlers.ask.postMessage(1)") == "1")
      #expect(await app.until { heard == ["\"own\""] })
      _ = try sites.log()

      // While it is open, what can't be told from its requests goes to the network, too.
      let pool = PagePool(app.host, .init(site: sites.url("")))
      let bypassed = try await pool.open(sites.url("/net/plain.html"))
      #expect(try await title(bypassed) == "\"from the network\"")
      #expect(try sites.log() == ["GET m.example.com/net/plain.html", "GET m.example.com/js/classic.js"])

      // A page of another host reaches no handler.
      let foreign = try WebPage(app.host, settings)
      try await foreign.load(sites.url("/index.html", "foreign.test"))
      _ = try await foreign.evaluate("webkit.messageHandlers.native.postMessage('foreign')")
      await #expect(throws: WebKitError.self) {
        try await foreign.evaluate("return await webkit.messageHandlers.ask.postMessage(1)")
      }
      #expect(heard == ["\"own\""])
      await app.end()
    }

    /// It asks as the app's pages do, and as their bridge does.
    @Test func aFrameOfAnotherHostReachesNoHandler() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      var settings = WebPageSettings()
      var heard: [String?] = []
      settings.messages["native"] = { heard.append($0) }
      settings.replies["ask"] = { message in
        heard.append(message)
        return "1"
      }
      let page = try WebPage(app.host, settings)
      try await page.load(sites.url("/second.html"))
      let tried = try await page.evaluate(
        """
        const said = new Promise(done => addEventListener('message', event => done(event.data), {once: true}));
        const frame = document.createElement('iframe');
        frame.src = '\(sites.url("/reach.html", "foreign.test"))';
        document.body.append(frame);
        return await said;
        """)
      #expect(tried == #""tried: refused""#)
      // A frame of the app's own host does reach them.
      let own = try await page.evaluate(
        """
        const frame = document.createElement('iframe');
        frame.src = '/frame.html';
        await new Promise(done => { frame.onload = done; document.body.append(frame) });
        return await frame.contentWindow.webkit.messageHandlers.ask.postMessage('own frame');
        """)
      #expect(own == "1")
      _ = try await page.evaluate("webkit.messageHandlers.native.postMessage('own')")
      #expect(await app.until { heard.last == "\"own\"" })
      #expect(heard == ["\"own frame\"", "\"own\""])
      await app.end()
    }

    @Test func scriptsAreSigned() async throws {
      let sites = try Sites()
      let key = try sites.tell("script good window.signed = document.readyState + (window.signed || '')")
      try sites.tell("script bad window.forged = true")
      let app = try await App(
        sites, hosts: Sites.hosts + ["127.0.0.1"], scriptKey: [UInt8](Data(base64Encoded: key) ?? Data()))
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      #expect(try await page.evaluate("return [signed, window.forged === undefined]") == #"["loading",true]"#)
      await app.end()
    }

    @Test func pagesTellHowTheyDo() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      let shown = try #require(page.shown)
      #expect(shown.url == sites.url("/index.html"))
      // A link is a page, and the one before it is gone.
      _ = try await page.evaluate("location.href = '/second.html'; return 1")
      #expect(await app.until { page.shown?.url == sites.url("/second.html") })
      #expect(page.shown != shown)
      await app.end()
    }

    @Test func whoIsNotTrustedGetsNothing() async throws {
      let sites = try Sites()
      let app = try await App(sites, trustsSites: false)
      let port = try #require(app.host.proxyPort)
      let answers = try JSONDecoder().decode([String].self, from: Data(try sites.tell("knock \(port)").utf8))
      #expect(answers.count == 3 && answers.allSatisfy { $0.hasPrefix("HTTP/1.1 407 ") })
      let page = try WebPage(app.host)
      await #expect(throws: WebKitError.self) { try await page.load(sites.url("/", "bad.test")) }
      // A server of a named host whose certificate nobody signed.
      try await page.load(sites.url("/second.html"))
      #expect(
        try await page.evaluate("return await fetch('/api/echo').catch(e => e.name)") == "\"TypeError\"")
      #expect(try sites.log() == [])
      await app.end()
    }
  }
}
