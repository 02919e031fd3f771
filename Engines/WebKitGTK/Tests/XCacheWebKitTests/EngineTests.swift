import Foundation
import Glibc
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// What an engine does beside loading pages: pages that aren't the device's, views that wait, what is killed.
  @Suite(.serialized)
  @WebActor
  struct EngineTests {
    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
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

    /// Before the device held anything, the engine took answers that it may keep for ten minutes.
    @Test func answersOfTheFirstStartAreForgotten() async throws {
      let sites = try Sites()
      let app = try await App(sites, isFirstStart: true)
      try app.trustSites()
      let page = try WebPage(app.host)
      // So that the runtime isn't told of a page, with which it would ask for a version.
      try await page.loadBlank(sites.url("/second.html"))
      let fetch = "return await (await fetch('/api/cached')).text()"
      let first = try await page.evaluate(fetch)
      try await Task.sleep(for: .seconds(1))
      #expect(try await page.evaluate(fetch) == first)
      await app.runtime.handle(.launch)
      #expect(try await app.until { try await page.evaluate(fetch) != first })
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

    /// What a page that is shown did last: none of it is wanted once more.
    enum Former: CaseIterable, Sendable { case nothing, download, cancelledLoad }

    /// The proxy dies, and another process has its port before it listens again. A download that the page led to before is no page to
    /// be loaded again.
    @Test(arguments: Former.allCases) func theProxysPortIsTaken(after former: Former) async throws {
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
      switch former {
      case .nothing: break
      case .download:
        _ = try await page.evaluate("location.href = '/api/attachment?size=10&name=x.own'; return 1")
      case .cancelledLoad:
        let loading = Task { try await page.load(sites.url("/api/hang", "m.localhost")) }
        #expect(try await app.until { try sites.log().contains("GET m.localhost/api/hang") })
        loading.cancel()
        await #expect(throws: CancellationError.self) { try await loading.value }
      }
      if former != .nothing {
        #expect(await app.until { hasEnded })
        hasEnded = false
        _ = try sites.log()
      }
      app.host.killProxy()
      // Nothing else runs on WebKit's thread before this is done.
      let squatter = try Squatter(port)
      #expect(await app.until { hasEnded })
      #expect(try await title(page) == "\"by the site\"")
      #expect(try sites.log() == ["GET m.localhost/index.html"])
      let other = try WebPage(app.host)
      try await other.load(sites.url("/index.html", "m.localhost"))
      #expect(try await title(other) == "\"by the site\"")

      // The port is free, and pages are the device's again.
      squatter.leave()
      #expect(
        try await app.until {
          try? await page.load(sites.url("/index.html", "m.localhost"))
          return try await title(page) == "\"listed\""
        })
      await app.end()
    }

    /// Requests take their turns on a few connections, passed on or not.
    @Test func connectionsAreUsedAgain() async throws {
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

    /// A service worker's requests and the update of its script, with no page of its own left.
    @Test func aWorkerWithoutAPage() async throws {
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
      // It waits until its page is gone, and says with its last request that it is done.
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

    @Test func anAnswerThatIsNoJSONRejectsThePagesPromise() async throws {
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

    /// Another process of the machine connects as often as it can, and says nothing.
    @Test func strangersKeepNoEngineOut() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let port = try #require(app.host.proxyPort)
      var strangers: [Int32] = []
      for _ in 0..<12 {
        strangers += (0..<50).map { _ in Self.connection(to: port) }
        // More than a listener's backlog would be tried again by the kernel after seconds.
        try await Task.sleep(for: .milliseconds(50))
      }
      defer { for stranger in strangers { close(stranger) } }
      #expect(strangers.allSatisfy { $0 >= 0 })
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      #expect(try await title(page) == "\"second\"")
      #expect(try sites.log() == [])
      // None stays for long.
      #expect(await app.until { strangers.allSatisfy(Self.isClosed) })
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

/// Has a port of this machine.
private final class Squatter {
  private let socket: Int32

  init(_ port: UInt16) throws {
    // WebKit's processes would keep it.
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

  func leave() { close(socket) }
}
