import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// History, and responses that aren't shown.
  @Suite(.serialized)
  @WebActor
  struct NavigationTests {
    /// Follows a link, goes back and forward with the app's methods, and back with the page's.
    private func walk(_ page: WebPage, _ app: App) async throws -> [String?] {
      var seen: [String?] = []
      func look() async throws {
        seen.append(try await page.evaluate("return [document.title, location.pathname, history.length]"))
      }
      try await page.load(app.sites.url("/second.html"))
      try await look()
      _ = try await page.evaluate("window.kept = 1; location.href = '/frame.html'; return 1")
      #expect(await app.until { page.url.hasSuffix("/frame.html") && page.shown?.url == page.url })
      #expect(await app.until { (try? await page.evaluate("return document.readyState")) == "\"complete\"" })
      try await look()
      try await page.goBack()
      try await look()
      seen.append(try await page.evaluate("return window.kept === 1"))
      try await page.goForward()
      try await look()
      _ = try await page.evaluate("setTimeout(() => history.back(), 0); return 1")
      #expect(await app.until { page.url.hasSuffix("/second.html") })
      #expect(await app.until { (try? await page.evaluate("return document.readyState")) == "\"complete\"" })
      try await look()
      return seen
    }

    @Test(arguments: ["kill", "up", "stop"])
    func historyMatchesWebKits(_ state: String) async throws {
      let sites = try Sites()
      if state == "kill" { try sites.tell("run policy kill -m test") }
      let app = try await App(sites)
      if state == "kill" {
        for host in Sites.hosts { try app.host.trust(sites.told.certificate, for: host) }
      }
      if state == "stop" { try sites.tell("stop") }
      let page = try WebPage(app.host)
      #expect(
        try await walk(page, app) == [
          #"["second","/second.html",1]"#, #"["frame","/frame.html",2]"#, #"["second","/second.html",2]"#,
          // WebKit doesn't keep documents with no-store in its back/forward cache.
          state == "kill" ? "true" : "false", #"["frame","/frame.html",2]"#, #"["second","/second.html",2]"#,
        ])
      if state != "kill" { #expect(try sites.log() == []) }
      await app.end()
    }

    /// The shown document and its frames keep the policy's scripts.
    @Test func responsesWithoutContentKeepThePage() async throws {
      let sites = try Sites()
      let key = try sites.tell("script good window.signed = location.pathname")
      let app = try await App(
        sites, hosts: Sites.hosts + ["127.0.0.1"], scriptKey: [UInt8](try #require(Data(base64Encoded: key))))
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      for code in [204, 205] {
        var hasFailed = false
        page.onEvent = { if case .failed = $0 { hasFailed = true } }
        let url = sites.url("/api/status?code=\(code)", "foreign.test")
        _ = try await page.evaluate("location.href = '\(url)'; return 1")
        #expect(await app.until { hasFailed })
        let signed = try await page.evaluate(
          """
          const frame = document.createElement('iframe');
          frame.src = '/frame.html';
          await new Promise(done => { frame.onload = done; document.body.append(frame) });
          return [window.signed, frame.contentWindow.signed];
          """)
        #expect(signed == #"["/second.html","/frame.html"]"#, "\(code)")
      }
      await app.end()
    }

    /// No request is attributed to a page whose process ended while it loaded.
    @Test func pagesOfEndedProcessesGetNoRequests() async throws {
      let sites = try Sites()
      try sites.tell("run policy bypass add https://m.example.com:\(sites.told.port)/api/* -m test")
      let app = try await App(sites)
      let (page, other) = (try WebPage(app.host), try WebPage(app.host))
      try await page.load(sites.url("/second.html"))
      let loading = Task { try await other.load(sites.url("/api/hang")) }
      #expect(try await app.until { try sites.log().contains("GET m.example.com/api/hang") })
      other.terminate()
      await #expect(throws: WebKitError.self) { try await loading.value }
      #expect(other.opening == nil)
      // Its connection may stay open for a moment.
      let fetch = "(await fetch('/digits.txt', {referrerPolicy: 'no-referrer', cache: 'no-store'})).status"
      #expect(
        try await app.until {
          _ = try sites.log()
          return try await page.evaluate("return \(fetch)") == "200" && sites.log() == []
        })
      await app.end()
    }

    /// The outcome of a link to a file that can't be shown, and of loading it with `load`.
    private func outcome(_ path: String, from page: WebPage, _ app: App) async throws -> String {
      var failures: [Bool] = []
      page.onEvent = { if case .failed(_, let error) = $0 { failures.append(error.isNotShown) } }
      _ = try await page.evaluate("location.href = '\(path)'; return 1")
      #expect(await app.until { !failures.isEmpty })
      let other = try WebPage(app.host)
      do {
        try await other.load(app.sites.url(path))
      } catch let error as WebKitError {
        failures.append(error.isNotShown)
      }
      // The view still loads the next page.
      try await other.load(app.sites.url("/second.html"))
      var titles: [String?] = []
      for view in [page, other] {
        titles.append(
          try await view.evaluate(
            "return [document.title, history.length, (await (await fetch('/digits.txt')).text()).length]"))
      }
      return "\(failures) \(titles.map { $0 ?? "" })"
    }

    /// As in WebKit itself, which cancels loads of files that it can't show, and downloads attachments if the app
    /// accepts them.
    @Test(arguments: ["kill", "up", "stop"])
    func filesThatCannotBeShownKeepThePage(_ state: String) async throws {
      let sites = try Sites()
      try sites.tell("large m.example.com/some.own 1")
      if state == "kill" { try sites.tell("run policy kill -m test") }
      let app = try await App(sites)
      if state == "kill" { try app.trustSites() }
      if state == "stop" { try sites.tell("stop") }
      var offered: [String] = []
      app.host.onDownload = { offered.append($0.suggestedName) }
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let attachment = "/api/attachment?size=10&name=report.own"
      for path in ["/large.bin", "/some.own"] + (state == "stop" ? [] : [attachment]) {
        let titles = [#"["second",1,100]"#, #"["second",1,100]"#]
        #expect(try await outcome(path, from: page, app) == "\([true, true]) \(titles)", "\(path)")
      }
      #expect(await app.until { offered == (state == "stop" ? [] : ["report.own", "report.own"]) })
      await app.end()
    }

    /// Requests that may be of a bypassed page go to the network; a download isn't a page.
    @Test func downloadsAreNotBypassedPages() async throws {
      let sites = try Sites()
      try sites.tell("large m.example.com/net/some.own 1")
      try sites.tell("run policy bypass add https://m.example.com:\(sites.told.port)/net/* -m test")
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      var hasFailed = false
      page.onEvent = { if case .failed = $0 { hasFailed = true } }
      _ = try await page.evaluate("location.href = '/net/some.own'; return 1")
      #expect(await app.until { hasFailed })
      #expect(try sites.log() == ["GET m.example.com/net/some.own"])
      let fetched = "(await fetch('/digits.txt', {referrerPolicy: 'no-referrer'})).text()"
      #expect(try await page.evaluate("return (await \(fetched)).length") == "100")
      #expect(try sites.log() == [])
      await app.end()
    }
  }
}
