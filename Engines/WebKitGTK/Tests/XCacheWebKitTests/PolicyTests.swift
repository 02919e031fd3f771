import CWebKitGTK
import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// What the policy switches, in pages that are open and in those that come.
  @Suite(.serialized)
  @WebActor
  struct PolicyTests {
    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
    }

    /// An app with a policy whose signed script says where it ran, and another one that is signed by nobody.
    private func signedApp(_ sites: Sites) async throws -> App {
      let key = try sites.tell(
        "script good window.signed = document.readyState + ' ' + location.pathname + (window.signed || ''); "
          + "if (window === top) localStorage.ran = [localStorage.ran, location.pathname]")
      try sites.tell("script bad window.forged = true")
      return try await App(
        sites, hosts: Sites.hosts + ["127.0.0.1"], scriptKey: [UInt8](Data(base64Encoded: key) ?? Data()))
    }

    @Test func theKillSwitchWhilePagesAreOpen() async throws {
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
      // A link of the page's own.
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

    @Test func scriptsAreSignedAndReachFramesOfTheApp() async throws {
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

    /// A view goes from page to page by itself, and each has what the policy says of it.
    @Test func scriptsFollowThePageThatIsShown() async throws {
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

      // Where redirects lead decides.
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

      // A view that was opened plain, and one that has to stay so.
      let bypassed = try WebPage(app.host)
      try await bypassed.load(sites.url("/net/plain.html"))
      #expect(try await bypassed.evaluate("return window.signed === undefined") == "true")
      var settings = WebPageSettings()
      settings.isPlain = true
      let plain = try WebPage(app.host, settings)
      try await plain.load(sites.url("/second.html"))
      #expect(try await plain.evaluate("return window.signed === undefined") == "true")

      // A view that waited on the proxy's blank page, which gets none.
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

    /// WebKit doesn't paint what nobody sees: such a page has come up no less than others.
    @Test func pagesThatNobodySees() async throws {
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
      // Hidden, and then shown: a page that never paints has failed then.
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

    /// What real pages do is what the origin hears.
    @Test func whatPagesReport() async throws {
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
          // Beyond the deadline, which began before.
          try await Task.sleep(for: .milliseconds(2_600))
        }
        #expect(try sites.log() == [])
        // The third time it is the network's.
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
      // They come in several batches.
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

    /// What the origin has counted of all versions.
    private static func counts(_ sites: Sites) throws -> [String: Int] {
      struct Status: Decodable {
        struct Adoption: Decodable { let reports: [Report] }
        struct Report: Decodable { let counts: [String: Int] }
        let adoption: Adoption
      }
      let status = try JSONDecoder().decode(Status.self, from: Data(sites.tell("ask status --json").utf8))
      return status.adoption.reports.reduce(into: [:]) { $0.merge($1.counts, uniquingKeysWith: +) }
    }

    /// What such a link leads to is no page: those that are open are answered as before.
    @Test(arguments: ["offline", "download", "204"])
    func aLinkToABypassedPageThatShowsNone(_ what: String) async throws {
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
      // The proxy hears of the end a moment after the engine does.
      try await Task.sleep(for: .seconds(1))
      #expect(
        try await page.evaluate(
          "return await fetch('/data.json', {referrerPolicy: 'no-referrer'}).then(answer => answer.status, String)"
        ) == "200")
      #expect(try sites.log() == [])
      await app.end()
    }

    /// It is in another view, and this one's requests don't say which page they are of.
    @Test func aForeignPageTakesNoRequestsOfAnotherView() async throws {
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
