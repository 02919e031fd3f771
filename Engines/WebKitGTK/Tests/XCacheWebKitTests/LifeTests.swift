import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Memory and processes of open and closed pages, and recovery from killed processes.
  @Suite(.serialized)
  @WebActor
  struct LifeTests {
    enum Way: String, CaseIterable, Sendable { case page, pool }

    private static func number(_ name: String, _ otherwise: Int) -> Int {
      ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? otherwise
    }

    private static let webProcess = "WebKitWebProces"
    private static let networkProcess = "WebKitNetworkPr"

    /// The engine's idle connections to the proxy: six each to two hosts.
    private static let keptConnections = 12

    /// The number of pages is XCACHE_WEBKIT_PAGES. Every fifth page is closed while it loads.
    @Test(arguments: Way.allCases) func openingAndClosingPagesLeaksNothing(_ way: Way) async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let count = Self.number("XCACHE_WEBKIT_PAGES", 50)
      var settings = WebPageSettings()
      settings.scripts = [UserScript("window.ours = true")]
      settings.messages["native"] = { _ in }
      settings.replies["ask"] = { _ in "1" }
      var warm = PagePool.Settings(site: sites.url(""))
      warm.page = settings
      let pool = PagePool(app.host, warm)

      func open(_ url: String) async throws -> WebPage {
        if way == .pool { return try await pool.open(url) }
        let page = try WebPage(app.host, settings)
        try await page.load(url)
        return page
      }
      func openAndClose(_ number: Int) async throws {
        if number % 5 == 4 {
          let loading = Task { _ = try await open(sites.url("/index.html")) }
          try await Task.sleep(for: .milliseconds(number % 40 * 5))
          loading.cancel()
          _ = await loading.result
          return
        }
        let page = try await open(sites.url("/index.html"))
        let said = try await page.evaluate(
          "return await webkit.messageHandlers.ask.postMessage([ours, document.title])")
        #expect(said == "1")
      }
      func settled() async throws -> Footprint {
        pool.memoryIsShort()
        #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })
        return .now()
      }

      // The first pages create objects that stay, some only by the twentieth page: threads of GLib's pools, files of
      // fontconfig, connections to the proxy, the runtime's own threads.
      for number in 0..<30 { try await openAndClose(number) }
      let before = try await settled()
      for number in 0..<count { try await openAndClose(number) }
      var after = try await settled()
      // Idle threads exit after a while.
      _ = await app.until {
        after = .now()
        return after.allDescriptors <= before.allDescriptors && after.allThreads <= before.allThreads
      }
      print("after 30 pages by \(way.rawValue): \(before)\nafter \(count) more: \(after)")
      #expect(after.allDescriptors <= before.allDescriptors + Self.keptConnections)
      #expect(after.networkDescriptors <= before.networkDescriptors + Self.keptConnections)
      #expect(after.allThreads <= before.allThreads + Self.keptConnections)
      #expect(after.children <= before.children)
      #expect(after.app - before.app < 20 << 20)
      #expect(after.network - before.network < 20 << 20)
      await app.end()
    }

    @Test func openingAndClosingHostsLeaksNothing() async throws {
      let sites = try Sites()
      func openAndClose() async throws {
        let app = try await App(sites)
        let page = try WebPage(app.host)
        try await page.load(sites.url("/second.html"))
        await app.end()
      }
      for _ in 0..<5 { try await openAndClose() }
      let before = Footprint.now()
      for _ in 0..<10 { try await openAndClose() }
      var after = Footprint.now()
      for _ in 0..<500 where after.allThreads > before.allThreads || after.children > before.children {
        try await Task.sleep(for: .milliseconds(20))
        after = .now()
      }
      print("after 5 hosts: \(before)\nafter 10 more: \(after)")
      // Allows for transient files; a leak of one descriptor per host would be ten.
      #expect(after.allDescriptors <= before.allDescriptors + 3)
      #expect(after.allThreads <= before.allThreads)
      #expect(after.children <= before.children)
    }

    @Test func pageClosedWhileLoadingIsReleased() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      weak var page: WebPage?
      let loading = Task { @WebActor in
        let made = try WebPage(app.host)
        page = made
        try await made.load(sites.url("/api/hang"))
      }
      #expect(try await app.until { try sites.log().contains("GET m.example.com/api/hang") })
      loading.cancel()
      await #expect(throws: CancellationError.self) { try await loading.value }
      #expect(page == nil)
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })
      await app.end()
    }

    @Test func pageSendsItsBeaconsWhenClosed() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      var page: WebPage? = try WebPage(app.host)
      try await page?.load(sites.url("/index.html"))
      let script = """
        for (const type of ['pagehide', 'visibilitychange', 'unload'])
          addEventListener(type, () => navigator.sendBeacon('/api/echo?' + type));
        """
      _ = try await page?.evaluate(script)
      _ = try sites.log()
      page = nil
      var said: Set<String> = []
      let all = Set(["pagehide", "visibilitychange", "unload"].map { "POST m.example.com/api/echo?\($0)" })
      _ = try await app.until {
        said.formUnion(try sites.log())
        return said == all
      }
      #expect(said == all)
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })

      // A page that is stuck in a loop sends none.
      page = try WebPage(app.host)
      try await page?.load(sites.url("/index.html"))
      _ = try await page?.evaluate("setTimeout(() => { for (;;); }, 300)")
      page = nil
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })
      await app.end()
    }

    /// Other pages of the site may use the service worker.
    @Test func serviceWorkerContinuesAfterItsPageIsClosed() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      var first: WebPage? = try WebPage(app.host)
      try await first?.load(sites.url("/second.html"))
      _ = try await first?.evaluate(
        """
        const registration = await navigator.serviceWorker.register('/lonely.js', {scope: '/'});
        await navigator.serviceWorker.ready;
        registration.active.postMessage('go');
        """)
      _ = try sites.log()
      // It waits until its page is closed; its last request signals that it is done.
      first = nil
      var asked: [String] = []
      _ = try await app.until {
        asked += try sites.log()
        return !asked.isEmpty
      }
      #expect(asked == ["GET m.example.com/api/status?code=201"])
      await app.end()
    }

    // MARK: A large file

    /// The source of the file: the device, the network through the runtime, or a tunneled connection.
    enum Source: String, CaseIterable, Sendable { case device, network, tunnel }

    /// A file of XCACHE_WEBKIT_MEGABYTES, read in ranges and as a whole.
    @Test(arguments: Source.allCases) func largeFileTakesConstantMemory(_ source: Source) async throws {
      let sites = try Sites()
      let megabytes = Self.number("XCACHE_WEBKIT_MEGABYTES", 256)
      // Files in net/ aren't published.
      let path = source == .device ? "/huge.bin" : "/net/huge.bin"
      try sites.tell("large m.example.com\(path) \(megabytes)")
      if source == .tunnel { try sites.tell("run policy kill -m test") }
      let app = try await App(sites, diskLimit: .max)
      if source == .tunnel {
        for host in Sites.hosts { try app.host.trust(sites.told.certificate, for: host) }
      }
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      _ = try sites.log()
      let network = try #require(Processes.children(named: Self.networkProcess).first)
      let before = (app: Processes.residentBytes(of: getpid()), network: Processes.residentBytes(of: network))

      func measured(_ what: String, atMost most: Int, _ script: String) async throws {
        Processes.beginPeak(of: getpid())
        Processes.beginPeak(of: network)
        let begin = ContinuousClock.now
        let got = try await page.evaluate(
          "const url = '\(path)', size = \(megabytes << 20);\n" + script, timeout: .seconds(900))
        let took = (ContinuousClock.now - begin) / .milliseconds(1)
        #expect(got == "\(megabytes << 20)", "\(what)")
        let app = Processes.peakBytes(of: getpid()) - before.app
        let network = Processes.peakBytes(of: network) - before.network
        print(
          "\(megabytes) MB \(what), from the \(source.rawValue), in \(Int(took)) ms: at most "
            + "\(app >> 10) KB more in the app, \(network >> 10) KB in the network process")
        #expect(app < 48 << 20)
        #expect(network < most)
      }
      try await measured(
        "by ranges", atMost: 48 << 20,
        """
        for (let start = 0; start < size; start += 4 << 20) {
          const end = Math.min(start + (4 << 20), size) - 1;
          const answer = await fetch(url, {headers: {Range: `bytes=${start}-${end}`}, cache: 'no-store'});
          const range = answer.headers.get('content-range'), view = new DataView(await answer.arrayBuffer());
          if (answer.status !== 206 || range !== `bytes ${start}-${end}/${size}`) return [start, answer.status, range];
          for (let at = 0; at < view.byteLength; at += 65536)
            if (view.getUint32(at) !== (start + at) / 65536) return [start + at, view.getUint32(at)];
          if (view.byteLength !== end - start + 1) return [start, view.byteLength];
        }
        return size;
        """)
      // WebKit buffers up to 160 MB between its processes, more at higher speeds, for any file.
      try await measured(
        "at once", atMost: 256 << 20,
        """
        const reader = (await fetch(url, {cache: 'no-store'})).body.getReader();
        let at = 0;
        for (let piece; !(piece = await reader.read()).done; at += piece.value.length) {
          const first = Math.ceil(at / 65536) * 65536 - at, view = new DataView(piece.value.buffer, piece.value.byteOffset);
          for (let here = first; here + 4 <= piece.value.length; here += 65536)
            if (view.getUint32(here) !== (at + here) / 65536) return [at + here, view.getUint32(here)];
        }
        return at;
        """)
      #expect(try sites.log().isEmpty == (source == .device))
      await app.end()
    }

    // MARK: Killed processes

    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
    }

    private func kill(_ name: String, _ app: App) async throws {
      let ids = Processes.children(named: name)
      #expect(!ids.isEmpty)
      for id in ids { Foundation.kill(id, SIGKILL) }
      #expect(await app.until { Set(Processes.children(named: name)).isDisjoint(with: ids) })
    }

    @Test func recoversFromAKilledWebProcess() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      var ends = 0
      page.onEvent = { if $0 == .terminated { ends += 1 } }
      try await kill(Self.webProcess, app)
      #expect(await app.until { ends == 1 })
      try await page.load(sites.url("/second.html"))
      #expect(try await title(page) == "\"second\"")

      // During a load, which then fails.
      let loading = Task { try await page.load(sites.url("/api/hang")) }
      #expect(try await app.until { try sites.log().contains("GET m.example.com/api/hang") })
      try await kill(Self.webProcess, app)
      await #expect(throws: WebKitError.self) { try await loading.value }
      try await page.load(sites.url("/index.html"))
      #expect(try await page.evaluate("return (await (await fetch('/digits.txt')).text()).length") == "100")
      await app.end()
    }

    @Test func recoversFromAKilledNetworkProcess() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      for path in ["/index.html", "/second.html"] {
        try await page.load(sites.url(path))
        try await kill(Self.networkProcess, app)
      }
      try await page.load(sites.url("/second.html"))
      #expect(try await title(page) == "\"second\"")

      // WebKit hasn't noticed yet.
      for id in Processes.children(named: Self.networkProcess) { Foundation.kill(id, SIGKILL) }
      try await page.load(sites.url("/index.html"))
      #expect(try await page.evaluate("return window.runs") == "1")

      // The page that is open meanwhile continues, too.
      try await kill(Self.networkProcess, app)
      let fetched = "return (await (await fetch('/digits.txt')).text()).length"
      #expect(await app.until { (try? await page.evaluate(fetched)) == "100" })
      #expect(try sites.log() == [])
      await app.end()
    }

    @Test func recoversFromAKilledProxy() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      for path in ["/index.html", "/second.html"] {
        try await page.load(sites.url(path))
        app.host.killProxy()
      }
      try await page.load(sites.url("/second.html"))
      #expect(try await title(page) == "\"second\"")

      app.host.killProxy()
      let fetched = "return (await (await fetch('/digits.txt')).text()).length"
      #expect(await app.until { (try? await page.evaluate(fetched)) == "100" })
      #expect(try sites.log() == [])
      await app.end()
    }
  }
}
