import CWebKitGTK
import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Effects of the policy on open and on newly loaded pages.
  @Suite(.serialized)
  @WebActor
  struct PolicyTests {
    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
    }

    /// An app with a policy that has a signed script, which records where it ran, and one with a bad signature.
    private func signedApp(_ sites: Sites) async throws -> App {
      let key = try sites.tell(
        "script good window.signed = document.readyState + ' ' + location.pathname + (window.signed || ''); "
          + "if (window === top) localStorage.ran = [localStorage.ran, location.pathname]")
      try sites.tell("script bad window.forged = true")
      return try await App(
        sites, hosts: Sites.hosts + ["127.0.0.1"], scriptKey: [UInt8](Data(base64Encoded: key) ?? Data()))
    }

    @Test func killSwitchAppliesToOpenPages() async throws {
      let sites = try Sites()
      let app = try await signedApp(sites)
      try app.trustSites()
      let pages = [try WebPage(app.host), try WebPage(app.host)]
      for page in pages {
        try await page.load(sites.url("/second.html"))
        #expect(try await page.evaluate("return signed") == #""loading /second.html""#)
      }
      #expect(try sites.log() == [])
      try sites.tell("run policy kill -m test")
      try await app.takePolicy()
      let before = app.runtime.counts
      try await pages[0].reload()
      #expect(try await title(pages[0]) == "\"second\"")
      // A link in the page.
      try await follow("/frame.html", in: pages[1], app)
      #expect(try await title(pages[1]) == "\"frame\"")
      for page in pages { #expect(try await page.evaluate("return window.signed === undefined") == "true") }
      let asked = try sites.log()
      #expect(
        asked.contains("GET m.example.com/second.html") && asked.contains("GET m.example.com/frame.html"))
      let after = app.runtime.counts
      #expect(after.memory + after.disk == before.memory + before.disk)
      await app.end()
    }

    /// Follows a link and waits until its page is loaded.
    private func follow(_ href: String, in page: WebPage, _ app: App) async throws {
      var isLoaded = false
      page.onEvent = { if $0 == .finished { isLoaded = true } }
      _ = try await page.evaluate("setTimeout(() => location.href = '\(href)', 0); return 1")
      #expect(await app.until { isLoaded })
      page.onEvent = { _ in }
    }

    @Test func onlySignedScriptsRunInTheAppsFrames() async throws {
      let sites = try Sites()
      let app = try await signedApp(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      #expect(try await page.evaluate("return signed") == #""loading /index.html""#)
      let frames = try await page.evaluate(
        """
        const heard = new Promise(done => addEventListener('message', event => done(event.data), {once: true}));
        const add = async src => {
          const frame = document.createElement('iframe');
          frame.src = src;
          const isLoaded = new Promise(done => frame.onload = done);
          document.body.append(frame);
          await isLoaded;
          return frame.contentWindow;
        };
        const own = await add('/frame.html');
        await add('\(sites.url("/signed.html", "foreign.test"))');
        return [own.signed, await heard, [window, own].every(one => one.forged === undefined)];
        """)
      #expect(frames == #"["loading /frame.html","foreign: undefined",true]"#)
      await app.end()
    }

    /// A view navigates from page to page, and the policy applies to each.
    @Test func scriptsRunOnlyInPagesOfTheApp() async throws {
      let sites = try Sites()
      try sites.tell("run policy bypass add https://m.example.com:\(sites.told.port)/net/* -m test")
      let app = try await signedApp(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      try await follow("/net/plain.html", in: page, app)
      #expect(
        try await page.evaluate("return [document.title, window.signed === undefined]")
          == #"["from the network",true]"#)
      try await follow("/index.html", in: page, app)
      #expect(try await page.evaluate("return signed") == #""loading /index.html""#)
      try await follow(sites.url("/index.html", "foreign.test"), in: page, app)
      #expect(
        try await page.evaluate("return [document.title, window.signed === undefined]")
          == #"["foreign",true]"#)
      try await page.goBack()
      #expect(try await page.evaluate("return signed") == #""loading /index.html""#)

      // The target of redirects decides.
      for (target, title) in [
        ("/net/plain.html", "from the network"), (sites.url("/index.html", "foreign.test"), "foreign"),
      ] {
        try await page.load(sites.url("/api/redirect?to=\(target)"))
        #expect(
          try await page.evaluate("return [document.title, window.signed === undefined]")
            == #"["\#(title)",true]"#)
      }
      try await page.load(sites.url("/api/redirect?to=/second.html"))
      #expect(try await page.evaluate("return signed") == #""loading /second.html""#)

      // A view whose first page is bypassed, and one with `isPlain`.
      let bypassed = try WebPage(app.host)
      try await bypassed.load(sites.url("/net/plain.html"))
      #expect(try await bypassed.evaluate("return window.signed === undefined") == "true")
      var settings = WebPageSettings()
      settings.isPlain = true
      let plain = try WebPage(app.host, settings)
      try await plain.load(sites.url("/second.html"))
      #expect(try await plain.evaluate("return window.signed === undefined") == "true")

      // A pooled view; the proxy's blank page runs no scripts.
      let pool = PagePool(app.host, .init(site: sites.url("")))
      await pool.fill()
      #expect(pool.count == 1)
      let warm = try await pool.open(sites.url("/second.html"))
      #expect(
        try await warm.evaluate(
          "return [signed, localStorage.ran.includes('/second.html'), localStorage.ran.includes('xcache')]")
          == #"["loading /second.html",true,false]"#)
      await app.end()
    }

    /// WebKit doesn't paint hidden pages, which don't count as failed.
    @Test func hiddenPagesDoNotFail() async throws {
      let sites = try Sites()
      let app = try await App(sites, pageDeadline: 1_500)
      let events = app.runtime.events
      var failed: [String] = []
      let watching = Task { @WebActor in
        for await event in events { if case .pageFailed(let url, _) = event { failed.append(url) } }
      }
      // In no window yet.
      var settings = WebPageSettings()
      settings.isHidden = false
      let alone = try WebPage(app.host, settings)
      let url = sites.url("/frame.html")
      for _ in 1...2 {
        try await alone.load(url)
        #expect(try await alone.evaluate("return document.visibilityState") == "\"hidden\"")
        try await Task.sleep(for: .milliseconds(1_800))
      }
      try sites.tell("stop")
      try await alone.load(url)
      try sites.tell("start")
      // Hidden, then shown: a page that never paints counts as failed from then on.
      settings.isFullScreen = true
      let view = try WebPage(app.host, settings)
      let empty = sites.url("/broken/empty.html")
      for _ in 1...2 {
        gtk_widget_hide(view.widget)
        try await view.load(empty)
        #expect(try await view.evaluate("return document.visibilityState") == "\"hidden\"")
        try await Task.sleep(for: .milliseconds(1_800))
        #expect(failed == [])
        gtk_widget_show(view.widget)
        #expect(
          try await app.until {
            try await view.evaluate("return document.visibilityState") == "\"visible\""
          })
        try await Task.sleep(for: .milliseconds(1_800))
      }
      #expect(await app.until { failed == [empty] })
      watching.cancel()
      await app.end()
    }

    /// The origin receives the counts of real pages.
    @Test func reportsCountLoadsErrorsAndStatuses() async throws {
      let sites = try Sites()
      let app = try await App(sites, pageDeadline: 2_500)
      let events = app.runtime.events
      let failed = Task { () -> [String] in
        var urls: [String] = []
        for await event in events { if case .pageFailed(let url, _) = event { urls.append(url) } }
        return urls
      }
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      _ = try await page.evaluate("return await document.fonts.ready.then(() => 1)")
      _ = try await page.evaluate(
        "for (const code of [201, 404, 503]) await fetch('/api/status?code=' + code); return 1")
      _ = try sites.log()
      for name in ["throws", "empty"] {
        for _ in 1...2 {
          try await page.load(sites.url("/broken/\(name).html"))
          // Past the deadline, which started earlier.
          try await Task.sleep(for: .milliseconds(2_600))
        }
        #expect(try sites.log() == [])
        // The third load comes from the network.
        try app.trustSites()
        try await page.load(sites.url("/broken/\(name).html"))
        #expect(try await title(page) == "\"\(name)\"")
        #expect(try sites.log() == ["GET m.example.com/broken/\(name).html"])
      }
      await app.end()
      #expect(await failed.value == ["throws", "empty"].map { sites.url("/broken/\($0).html") })
      var counts: [String: Int] = [:]
      func sum(_ prefix: String) -> Int {
        counts.filter { $0.key.hasPrefix(prefix) }.map(\.value).reduce(0, +)
      }
      // Reports arrive in several batches.
      #expect(
        try await app.until {
          counts = try Self.counts(sites)
          return sum("load-") >= 7
        })
      #expect(counts["script-failed"] == 2)
      #expect((counts["page-failed"] ?? 0) >= 2)
      #expect(counts["status-4xx"] == 1)
      #expect(counts["status-5xx"] == 1)
      #expect((counts["status-2xx"] ?? 0) >= 3)
      #expect((counts["local"] ?? 0) > 10)
      #expect(sum("paint-local-") >= 1)
      #expect(sum("load-local-") == 5)
      #expect(sum("load-network-") == 2)
    }

    /// The origin's counts, summed over all versions.
    private static func counts(_ sites: Sites) throws -> [String: Int] {
      struct Status: Decodable {
        struct Adoption: Decodable { let reports: [Report] }
        struct Report: Decodable { let counts: [String: Int] }
        let adoption: Adoption
      }
      let status = try JSONDecoder().decode(Status.self, from: Data(sites.tell("ask status --json").utf8))
      return status.adoption.reports.reduce(into: [:]) { $0.merge($1.counts, uniquingKeysWith: +) }
    }

    /// The link's target isn't shown, so requests of open pages are answered as before.
    @Test(arguments: ["offline", "download", "204"])
    func linkToABypassedPageThatIsNotShownChangesNothing(_ what: String) async throws {
      let sites = try Sites()
      try sites.tell("run policy bypass add https://m.example.com:\(sites.told.port)/api/* -m test")
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let link = ["download": "/api/attachment?size=10&name=x", "204": "/api/status?code=204"][what]
      var hasFailed = false
      page.onEvent = { if case .failed = $0 { hasFailed = true } }
      if what == "offline" { try sites.tell("stop") }
      _ = try await page.evaluate("setTimeout(() => location.href = '\(link ?? "/api/cached")', 0); return 1")
      if what == "204" {
        #expect(try await app.until { try sites.log().contains("GET m.example.com/api/status?code=204") })
      } else {
        #expect(await app.until { hasFailed })
      }
      _ = try sites.log()
      // The proxy notices the end a moment after the engine.
      try await Task.sleep(for: .seconds(1))
      #expect(
        try await page.evaluate(
          "return await fetch('/data.json', {referrerPolicy: 'no-referrer'}).then(answer => answer.status, String)"
        ) == "200")
      #expect(try sites.log() == [])
      await app.end()
    }

    /// The foreign page is in another view, and the requests have no referrer.
    @Test func foreignPageGetsNoRequestsOfAnotherView() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let (other, page) = (try WebPage(app.host), try WebPage(app.host))
      try await other.load(sites.url("/index.html", "foreign.test"))
      try await page.load(sites.url("/second.html"))
      _ = try sites.log()
      #expect(
        try await page.evaluate(
          "return await fetch('/data.json', {referrerPolicy: 'no-referrer'}).then(answer => answer.status, String)"
        ) == "200")
      #expect(try sites.log() == [])
      #expect(try await title(other) == "\"foreign\"")
      await app.end()
    }
  }
}
