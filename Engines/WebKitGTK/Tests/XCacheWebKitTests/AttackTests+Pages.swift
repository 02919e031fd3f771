import Foundation
import Testing
import WebKitTestSupport

@testable import XCacheRuntime
@testable import XCacheWebKit

extension WebKitTests {
  /// Hostile pages.
  @Suite(.serialized)
  @WebActor
  struct PageAttackTests: Attacks {
    /// Attempts of a page of another host, in a frame of the app's page or at top level, all of which have to fail.
    private func attempts(_ own: String, _ proxy: UInt16) -> String {
      """
      const own = '\(own)', got = [];
      const tell = async (name, body) => {
        const limit = new Promise(done => setTimeout(done, 3000, undefined));
        try {
          const value = await Promise.race([body(), limit]);
          if (value && value !== 'not here') got.push(`${name}: ${String(value).slice(0, 60)}`);
        } catch {}
      };
      const text = (url, init) => fetch(url, init).then(answer => answer.text());
      const frame = src => new Promise(done => {
        const frame = Object.assign(document.createElement('iframe'), {src, onload: () => done(frame)});
        document.body.append(frame);
      });
      await Promise.all([
        tell('fetch', () => text(own + '/v/small.txt')),
        tell('with cookies', () => text(own + '/v/small.txt', {credentials: 'include'})),
        tell('no-cors', () => text(own + '/v/small.txt', {mode: 'no-cors'})),
        tell('blank', () => text(own + '/.well-known/xcache/blank')),
        tell('range', () => text(own + '/v/small.txt', {headers: {Range: 'bytes=0-9'}})),
        tell('module', async () => (await import(own + '/v/m.js')) && 'imported'),
        tell('XHR', () => new Promise((done, fail) => {
          const x = new XMLHttpRequest(); x.open('GET', own + '/v/small.txt'); x.onload = () => done(x.responseText);
            x.onerror = fail; x.send();
        })),
        tell('frame', async () => (await frame(own + '/v/frame.html')).contentDocument?.title),
        tell('picture', async () => {
          const image = Object.assign(new Image(), {src: own + '/image.svg'});
          await image.decode();
          const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
          canvas.getContext('2d').drawImage(image, 0, 0);
          return canvas.toDataURL();
        }),
        tell('timing', async () => {
          await text(own + '/v/small.txt', {mode: 'no-cors'});
          return performance.getEntriesByName(own + '/v/small.txt').some(one => one.encodedBodySize || one.transferSize);
        }),
        tell('worker', () => new Promise((done, fail) => {
          const worker = new Worker(own + '/js/worker.js'); worker.onmessage = () => done('ran');
            worker.onerror = fail; worker.postMessage('return 1');
        })),
        tell('cache', async () => (await (await caches.open('x')).add(own + '/v/small.txt'), 'kept')),
        ...['http', 'https'].flatMap(scheme => ['cors', 'no-cors'].map(mode =>
          tell('proxy ' + scheme + mode, () => text(`${scheme}://127.0.0.1:\(proxy)/v/small.txt`, {mode})))),
        ...['ws', 'wss'].map(scheme => tell('proxy ' + scheme, () => new Promise((done, fail) => {
          const socket = new WebSocket(`${scheme}://127.0.0.1:\(proxy)/`); socket.onopen = () => done('open');
            socket.onerror = fail;
        }))),
        ...['xcache', 'native', 'ask'].map(name => tell('handler ' + name, async () => {
          const handler = window.webkit?.messageHandlers?.[name];
          return handler && await handler.postMessage(name === 'xcache' ? 'failed 1' : 'forged');
        })),
        tell('event', async () => {
          for (const name of ['xcache', 'native', 'ask'])
            dispatchEvent(new CustomEvent('xcache-message', {detail: JSON.stringify([1, name, '"forged"'])}));
        }),
      ]);
      return got;
      """
    }

    @Test func pagesOfOtherHostsReachNeitherDeviceNorHandlers() async throws {
      let sites = try Sites()
      try sites.tell("release 1")
      let app = try await App(sites)
      // Only the device has these files now: the site itself allows every host to read its responses.
      try sites.tell("forget")
      var heard: [String?] = []
      var settings = WebPageSettings()
      settings.messages["native"] = { heard.append($0) }
      settings.replies["ask"] = {
        heard.append($0)
        return "1"
      }
      let events = app.runtime.events
      var failed = 0
      let watching = Task { @WebActor in
        for await event in events { if case .pageFailed = event { failed += 1 } }
      }
      let page = try WebPage(app.host, settings)
      let script = attempts(sites.url(""), try #require(app.host.proxyPort))
      for _ in 1...2 {
        try await page.load(sites.url("/index.html", "foreign.test"))
        #expect(try await page.evaluate(script) == "[]")
      }
      // The same in a frame of the app's page, which reports what it got.
      for _ in 1...2 {
        try await page.load(sites.url("/second.html"))
        let text = String(decoding: try JSONEncoder().encode([script]), as: UTF8.self)
        let said = try await page.evaluate(
          """
          const heard = new Promise(done => addEventListener('message', event => done(event.data)));
          const frame = document.createElement('iframe');
          frame.src = '\(sites.url("/run.html", "foreign.test"))';
          frame.onload = () => frame.contentWindow.postMessage(\(text)[0], '*');
          document.body.append(frame);
          return await heard;
          """)
        #expect(said == "[]")
      }
      #expect(heard == [] && failed == 0)
      let asked = try sites.log()
      #expect(asked.contains("GET m.example.com/v/small.txt"))
      // The app's own page can use both.
      #expect(try await page.evaluate("return (await (await fetch('/v/small.txt')).text()).length") == "3200")
      _ = try await page.evaluate("return await webkit.messageHandlers.ask.postMessage(2)")
      #expect(heard == ["2"])
      watching.cancel()
      await app.end()
    }

    /// Unusual and malformed ranges: the body matches the response's header.
    @Test func unusualRangesGetConsistentResponses() async throws {
      var dice = SplitMix(seed: 59)
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      var ranges = [
        "bytes=0-", "bytes=-1", "bytes=5-2", "bytes=0-0,5-6", "bytes=99999999999999999999-", "bytes= 1-2",
        "lines=1-2", "bytes=--1",
        "bytes=-0", "bytes", "bytes=", "bytes=,", "bytes=0-99999999999999999999",
        "bytes=9223372036854775807-", "Bytes=1-2", "bytes=1-2,", "bytes=+1-2",
        "bytes=0x1-2", "bytes=1-2-3", "bytes=-9223372036854775808", "bytes=99-100", "bytes=100-",
        "bytes=99-99",
      ]
      for _ in 0..<100 * Self.times {
        let ends = (0..<2).map { _ in dice.one(in: 4) ? "" : "\(dice.below(dice.one(in: 3) ? 1 << 40 : 130))"
        }
        ranges.append("bytes=\(ends[0])-\(ends[1])")
      }
      let text = String(decoding: try JSONEncoder().encode(ranges), as: UTF8.self)
      let wrong = try await page.evaluate(
        """
        const whole = '0123456789'.repeat(10), wrong = [];
        for (const range of \(text)) {
          const answer = await fetch('/digits.txt', {headers: {Range: range}, cache: 'no-store'}), text = await answer.text();
          const told = (answer.headers.get('content-range') || '').match(/^bytes (\\d+)-(\\d+)\\/100$/);
          const isRight = answer.status === 200 ? text === whole : answer.status === 206 ? told &&
            text === whole.slice(+told[1], +told[2] + 1)
            : answer.status === 416 && text === '';
          if (!isRight) wrong.push([range, answer.status, text.length]);
        }
        return wrong;
        """)
      #expect(wrong == "[]")
      Self.note("\(ranges.count) ranges")
      await app.end()
    }

    /// Pages that navigate endlessly or fill their history; and many views.
    @Test func endlessNavigationBlocksNoOtherPage() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      for script in [
        "const places = ['/second.html', '/index.html', '/frame.html?' + Math.random(), '/none', '#x']; "
          + "setInterval(() => { location.href = places[Math.random() * 5 | 0] }, 1)",
        "for (let i = 0; i < 90; i++) history.pushState(i, '', '/state' + i); "
          + "setInterval(() => history.go((Math.random() * 9 | 0) - 4), 1)",
        "setInterval(() => location.reload(), 1)",
        "setInterval(() => location.replace('/second.html?' + Math.random()), 1)",
        "setInterval(() => { location.href = URL.createObjectURL(new Blob(['<title>b</title>'], {type: 'text/html'})) }, 5)",
        "setInterval(() => { location.href = 'data:text/html,x' ; location.href = 'about:blank'; "
          + "location.href = 'xcache-https://m.example.com/' }, 5)",
        "setInterval(() => { window.open('/second.html'); const f = document.createElement('iframe'); "
          + "f.src = '/frame.html'; document.body.append(f); f.remove() }, 5)",
        "setInterval(() => { alert(1); confirm(2); prompt(3); print() }, 5)",
        "for (;;) ;",
      ] {
        var page: WebPage? = try WebPage(app.host)
        try await page?.load(sites.url("/second.html"))
        _ = try? await page?.evaluate("setTimeout(() => { \(script) }, 50); return 1")
        try await Task.sleep(for: .milliseconds(300))
        if script.hasPrefix("for (;;)") { page?.terminate() }
        // The page's own navigations may win, but the load has to end.
        let end = await end(script) { [page] in try await page?.load(sites.url("/index.html")) }
        if end != "done" { Self.note("\(script.prefix(60)): \(end)") }
        page = nil
        let other = try WebPage(app.host)
        try await other.load(sites.url("/index.html"))
        #expect(try await other.evaluate("return window.runs") == "1")
      }
      var views = 0
      let tasks = (0..<4).map { number in
        Task { @WebActor in
          var random = SplitMix(seed: UInt64(100 + number))
          for _ in 0..<6 * Self.times {
            let view = try WebPage(app.host)
            views += 1
            let path = ["/index.html", "/second.html", "/api/hang", "/none"][random.below(4)]
            let loading = Task { try? await view.load(sites.url(path)) }
            try await Task.sleep(for: .milliseconds(random.below(120)))
            loading.cancel()
            _ = await loading.value
          }
        }
      }
      for task in tasks { try await task.value }
      Self.note("\(views) views")
      // Documents that were never shown stay registered for 10 s.
      #expect(await app.until { registered(app) == 0 }, "\(registered(app))")
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      #expect(try await page.evaluate("return document.title") == "\"second\"")
      await app.end()
    }
  }
}
