import CWebKitGTK
import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

/// Views that the app created for windows opened by pages.
@WebActor
private final class Windows {
  private(set) var views: [UnsafeMutablePointer<WebKitWebView>] = []
  private(set) var closed = 0

  /// Handles `create` with a view that is related to the page's, as apps do.
  init(of page: WebPage) {
    connect(
      page.view, "create", Box(Weak(self)),
      { view, _, data in
        nonisolated(unsafe) let (view, me) = (view, Box<Weak<Windows>>.borrow(data))
        return WebActor.assumeIsolated { () -> UnsafeMutablePointer<GtkWidget>? in
          guard let view, let windows = me?.object,
            let widget = webkit_web_view_new_with_related_view(
              view.assumingMemoryBound(to: WebKitWebView.self))
          else { return nil }
          windows.add(UnsafeMutableRawPointer(widget).assumingMemoryBound(to: WebKitWebView.self))
          return widget
        }
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> UnsafeMutablePointer<GtkWidget>?)
  }

  private func add(_ view: UnsafeMutablePointer<WebKitWebView>) {
    g_object_ref_sink(view)
    _ = xcache_hidden_window(view, 200, 200)
    views.append(view)
    connect(
      view, "close", Box(Weak(self)),
      { _, data in
        nonisolated(unsafe) let me = Box<Weak<Windows>>.borrow(data)
        WebActor.assumeIsolated { me?.object?.closed += 1 }
      } as @convention(c) (gpointer?, gpointer?) -> Void)
  }
}

extension WebKitTests {
  /// Windows opened by pages, and cookies of frames: as in an engine without a runtime, which the state `kill` gives.
  @Suite(.serialized)
  @WebActor
  struct WindowTests {
    private func app(_ sites: Sites, _ state: String) async throws -> App {
      if state == "kill" { try sites.tell("run policy kill -m test") }
      let app = try await App(sites)
      if state == "kill" { try app.trustSites() }
      return app
    }

    /// Without a handler, no window opens, and the page is unchanged.
    @Test(arguments: ["kill", "up"]) func windowsWithoutAHandlerAreNotOpened(_ state: String) async throws {
      let sites = try Sites()
      let app = try await app(sites, state)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      _ = try sites.log()
      let (shown, foreign) = (page.shown, sites.url("/index.html", "foreign.test"))
      let seen = try await page.evaluate(
        """
        const made = [];
        for (const url of ['/frame.html', '\(foreign)', '', 'about:blank'])
          for (const how of ['', 'noopener', 'popup,width=100']) made.push(window.open(url, '_blank', how));
        for (const rel of ['', 'noopener', 'opener'])
          for (const href of ['/frame.html', '\(foreign)'])
            document.body.appendChild(Object.assign(document.createElement('a'), {href, target: '_blank', rel})).click();
        document.body.appendChild(Object.assign(document.createElement('form'), {action: '/frame.html', target: '_blank'})).submit();
        const frame = document.body.appendChild(Object.assign(document.createElement('iframe'), {name: 'inner'}));
        const isLoaded = new Promise(done => frame.onload = done);
        const isInner = window.open('/frame.html', 'inner') === frame.contentWindow;
        await isLoaded;
        window.close();
        return [made.every(view => view === null), document.title, history.length, isInner,
          frame.contentWindow.opener === window, frame.contentDocument.title];
        """)
      #expect(seen == #"[true,"second",1,true,true,"frame"]"#)
      #expect(page.shown == shown && page.opening == nil)
      let asked = try sites.log().filter { !$0.hasSuffix("/js/frame.js") }
      #expect(asked == (state == "kill" ? ["GET m.example.com/frame.html"] : []))
      try await page.load(sites.url("/frame.html"))
      #expect(try await page.evaluate("return [window.closed, document.title]") == #"[false,"frame"]"#)
      await app.end()
    }

    /// The app creates views for the windows.
    @Test(arguments: ["kill", "up"]) func windowsOpenInTheAppsViews(_ state: String) async throws {
      let sites = try Sites()
      let app = try await app(sites, state)
      let page = try WebPage(app.host)
      let windows = Windows(of: page)
      try await page.load(sites.url("/second.html"))
      _ = try sites.log()
      let script = """
        const until = async test => { for (let i = 0; i < 500 && !test(); i++) await new Promise(done => setTimeout(done, 20)) };
        const heard = [];
        addEventListener('message', event => heard.push(new URL(event.origin).hostname, event.data));
        const own = window.open('/frame.html', 'own');
        await until(() => own.document.title === 'frame' && own.document.readyState === 'complete');
        const seen = [own.opener === window, own.document.title, own.location.pathname];
        const foreign = window.open('\(sites.url("/signed.html", "foreign.test"))', 'foreign');
        await until(() => heard.length > 0);
        let refused;
        try { foreign.document } catch (error) { refused = error.name }
        const alone = window.open('/frame.html', 'alone', 'noopener');
        own.close();
        foreign.close();
        await until(() => own.closed && foreign.closed);
        return [seen, heard, refused, alone, own.closed, foreign.closed];
        """
      #expect(
        try await page.evaluate(script)
          == #"[[true,"frame","/frame.html"],["foreign.test","foreign: undefined"],"SecurityError",null,true,true]"#
      )
      #expect(await app.until { windows.closed == 2 && windows.views.count == 3 })
      let alone = "https://m.example.com:\(sites.told.port)/frame.html"
      #expect(
        await app.until {
          windows.views.last.flatMap(webkit_web_view_get_uri).map { String(cString: $0) } == alone
        })
      let asked = try sites.log()
      if state == "up" { #expect(asked == ["GET foreign.test/signed.html"]) }
      #expect(page.url == sites.url("/second.html") && page.opening == nil)
      await app.end()
    }

    /// The cookies of a document and its request in a frame of `host`, and those of the page's own request to it.
    private func cookies(of host: String, in page: WebPage, _ sites: Sites) async throws -> String? {
      try await page.evaluate(
        """
        const sorted = text => (text || '').split('; ').sort().join(' ');
        const frame = document.createElement('iframe');
        frame.src = '\(sites.url("/cookies.html", host))';
        const said = new Promise(done => addEventListener('message', event => done(event.data), {once: true}));
        document.body.append(frame);
        const seen = (await said).map(sorted);
        const answer = await fetch('\(sites.url("/api/echo", host))', {credentials: 'include'});
        return [...seen, sorted((await answer.json()).cookie)];
        """)
    }

    /// Frames of another site in the app's page, and of the app in another site's page.
    @Test(arguments: ["kill", "up"]) func framesGetTheirCookies(_ state: String) async throws {
      let sites = try Sites()
      let app = try await app(sites, state)
      let (own, foreign) = (try WebPage(app.host), try WebPage(app.host))
      try await own.load(sites.url("/second.html"))
      try await foreign.load(sites.url("/index.html", "foreign.test"))
      let pages = [(own, "foreign.test"), (foreign, "m.example.com")]
      for (page, host) in pages {
        #expect(try await cookies(of: host, in: page, sites) == #"["","",""]"#, "\(host)")
      }
      for (page, _) in pages {
        _ = try await page.evaluate(
          """
          const all = ['plain=1; Path=/', 'lax=1; Path=/; SameSite=Lax', 'strict=1; Path=/; SameSite=Strict',
            'none=1; Path=/; SameSite=None; Secure', 'part=1; Path=/; SameSite=None; Secure; Partitioned'];
          await fetch('/api/cookie?set=' + encodeURIComponent(all.join('|')));
          document.cookie = 'script=1; path=/; SameSite=None; Secure';
          """)
      }
      for (page, host) in pages {
        let cross = "none=1 part=1 plain=1 script=1"
        #expect(
          try await cookies(of: host, in: page, sites) == "[\"\(cross)\",\"\(cross)\",\"\(cross)\"]",
          "\(host)")
      }
      for (page, host) in [(own, "m.example.com"), (foreign, "foreign.test")] {
        let all = "lax=1 none=1 part=1 plain=1 script=1 strict=1"
        #expect(
          try await cookies(of: host, in: page, sites) == "[\"\(all)\",\"\(all)\",\"\(all)\"]", "\(host)")
      }
      await app.end()
    }
  }
}
