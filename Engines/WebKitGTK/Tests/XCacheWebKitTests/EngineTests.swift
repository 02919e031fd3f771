import Foundation
import Glibc
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Bypassed and foreign pages, message handlers, the proxy's port, connections and service workers.
  @Suite(.serialized)
  @WebActor
  struct EngineTests {
    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
    }

    @Test func bypassedAndForeignPagesReachNoHandler() async throws {
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

      // While it is open, requests that may be of this page go to the network, too.
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

    /// The frame tries the same calls as the app's pages and their bridge.
    @Test func foreignFramesReachNoHandler() async throws {
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

    /// Before the device stored anything, the engine cached responses with a max-age of ten minutes.
    @Test func engineCacheIsClearedAfterTheFirstUpdate() async throws {
      let sites = try Sites()
      let app = try await App(sites, isFirstStart: true)
      try app.trustSites()
      let page = try WebPage(app.host)
      // So that the runtime isn't told of a page, and doesn't request its version.
      try await page.loadBlank(sites.url("/second.html"))
      let fetch = "return await (await fetch('/api/cached')).text()"
      let first = try await page.evaluate(fetch)
      try await Task.sleep(for: .seconds(1))
      #expect(try await page.evaluate(fetch) == first)
      await app.runtime.handle(.launch)
      #expect(try await app.until { try await page.evaluate(fetch) != first })
      await app.end()
    }

    @Test func shownPageFollowsLinks() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      let shown = try #require(page.shown)
      #expect(shown.url == sites.url("/index.html"))
      // Following a link replaces the shown page.
      _ = try await page.evaluate("location.href = '/second.html'; return 1")
      #expect(await app.until { page.shown?.url == sites.url("/second.html") })
      #expect(page.shown != shown)
      await app.end()
    }

    /// The last operation of a page, which must not be repeated.
    enum Previous: CaseIterable, Sendable { case nothing, download, cancelledLoad }

    /// The proxy ends, and another process binds its port before it listens again. An earlier download of the page
    /// isn't repeated.
    @Test(arguments: Previous.allCases) func pagesComeFromTheNetworkWhileTheProxysPortIsTaken(
      after previous: Previous
    ) async throws {
      let sites = try Sites()
      try sites.tell("list m.localhost")
      let app = try await App(sites, hosts: Sites.hosts + ["m.localhost"])
      try app.host.trust(sites.told.certificate, for: "m.localhost")
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html", "m.localhost"))
      #expect(try await title(page) == "\"listed\"")
      #expect(try sites.log() == [])
      let port = try #require(app.host.proxyPort)
      var hasEnded = false
      page.onEvent = { if $0 == .finished { hasEnded = true } }
      switch previous {
      case .nothing: break
      case .download:
        _ = try await page.evaluate("location.href = '/api/attachment?size=10&name=x.own'; return 1")
      case .cancelledLoad:
        let loading = Task { try await page.load(sites.url("/api/hang", "m.localhost")) }
        #expect(try await app.until { try sites.log().contains("GET m.localhost/api/hang") })
        loading.cancel()
        await #expect(throws: CancellationError.self) { try await loading.value }
      }
      if previous != .nothing {
        #expect(await app.until { hasEnded })
        hasEnded = false
        _ = try sites.log()
      }
      app.host.killProxy()
      // Nothing else runs on WebKit's thread until this returns.
      let blocker = try PortBlocker(port)
      #expect(await app.until { hasEnded })
      #expect(try await title(page) == "\"by the site\"")
      #expect(try sites.log() == ["GET m.localhost/index.html"])
      let other = try WebPage(app.host)
      try await other.load(sites.url("/index.html", "m.localhost"))
      #expect(try await title(other) == "\"by the site\"")

      // The port is free, and pages come from the device again.
      blocker.close()
      #expect(
        try await app.until {
          try? await page.load(sites.url("/index.html", "m.localhost"))
          return try await title(page) == "\"listed\""
        })
      await app.end()
    }

    /// Requests share a few connections, tunneled or not.
    @Test func connectionsAreReused() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      for host in ["m.example.com", "foreign.test"] {
        try await page.load(sites.url("/index.html", host))
        try sites.tell("connections")
        _ = try await page.evaluate(
          """
          for (let i = 0; i < 20; i++) await (await fetch('/api/echo')).text();
          await Promise.all(Array.from({length: 20}, async () => (await fetch('/api/echo')).text()));
          return 1;
          """)
        let count = try #require(Int(try sites.tell("connections")))
        #expect(count <= 6, "\(host)")
      }
      await app.end()
    }

    /// A service worker's requests and its script's update after its page was closed.
    @Test func serviceWorkerWithoutAPageUsesTheDevice() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      _ = try await page.evaluate(
        """
        const registration = await navigator.serviceWorker.register('/lonely.js', {scope: '/'});
        await navigator.serviceWorker.ready;
        registration.active.postMessage('go');
        return 1
        """)
      // It waits until its page is closed; its last request signals that it is done.
      try await page.load("about:blank")
      var asked: [String] = []
      #expect(
        try await app.until {
          asked += try sites.log()
          return !asked.isEmpty
        })
      // The device holds the rest.
      #expect(asked == ["GET m.example.com/api/status?code=201"])
      try await page.load(sites.url("/frame.html"))
      let got = try await page.evaluate(
        """
        let got;
        for (let i = 0; i < 300 && !(got && got.length === 5); i++) {
          await new Promise(done => setTimeout(done, 20));
          const found = await caches.match('/lonely-result');
          got = found && await found.json();
        }
        return [typeof BackgroundFetchManager, got];
        """)
      #expect(got == #"["undefined",[0,100,"shared text\n","object",201]]"#)
      await app.end()
    }

    @Test func repliesThatAreNotJSONRejectThePromise() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      var settings = WebPageSettings()
      settings.replies["ask"] = { ["1": "not json", "2": "", "3": "[1, 2"][$0 ?? ""] ?? "[4]" }
      let page = try WebPage(app.host, settings)
      try await page.load(sites.url("/second.html"))
      for number in 1...3 {
        #expect(
          try await page.evaluate(
            "return await webkit.messageHandlers.ask.postMessage(\(number)).catch(error => error.message)")
            == "\"the answer of the app's handler isn't JSON\"")
      }
      #expect(try await page.evaluate("return await webkit.messageHandlers.ask.postMessage(4)") == "[4]")
      await app.end()
    }

    /// Another local process opens many connections and sends nothing.
    @Test func idleConnectionsDoNotBlockTheEngine() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let port = try #require(app.host.proxyPort)
      var clients: [Int32] = []
      for _ in 0..<12 {
        clients += (0..<50).map { _ in Self.connection(to: port) }
        // The kernel retries connections beyond the listener's backlog only after seconds.
        try await Task.sleep(for: .milliseconds(50))
      }
      defer { for client in clients { close(client) } }
      #expect(clients.allSatisfy { $0 >= 0 })
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      #expect(try await title(page) == "\"second\"")
      #expect(try sites.log() == [])
      // The proxy closes them soon.
      #expect(await app.until { clients.allSatisfy(Self.isClosed) })
      await app.end()
    }

    private static func connection(to port: UInt16) -> Int32 {
      let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(made, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      return made
    }

    private static func isClosed(_ socket: Int32) -> Bool {
      var byte: UInt8 = 0
      return recv(socket, &byte, 1, 0) == 0 || errno != EAGAIN
    }
  }
}

/// Listens on a port of this machine.
private final class PortBlocker {
  private let socket: Int32

  init(_ port: UInt16) throws {
    // Close-on-exec: WebKit's processes would inherit it.
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    for _ in 0..<500 {
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, 16) }
      }
      if result == 0, listen(socket, 8) == 0 { return }
      usleep(10_000)
    }
    throw Sites.Failed(what: "port \(port) stays taken")
  }

  func close() { Glibc.close(socket) }
}
