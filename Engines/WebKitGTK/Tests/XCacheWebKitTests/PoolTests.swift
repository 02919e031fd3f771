import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Preloaded views for the next page.
  @Suite(.serialized)
  @WebActor
  struct PoolTests {
    private static let webProcess = "WebKitWebProces"

    private func makePool(
      _ change: (inout PagePool.Settings) -> Void = { _ in }
    ) async throws -> (app: App, pool: PagePool) {
      let app = try await App(try Sites())
      var settings = PagePool.Settings(site: app.sites.url(""))
      change(&settings)
      return (app, PagePool(app.host, settings))
    }

    private func answer(_ pool: PagePool, _ url: String, _ script: String) async throws -> String? {
      try await pool.open(url).evaluate(script)
    }

    /// Runs a script in one page, then another in the next page, and returns the latter's result.
    private func leftover(_ trace: String, _ look: String) async throws -> String? {
      let (app, pool) = try await makePool()
      await pool.fill()
      #expect(pool.count == 1)
      let first = try await pool.open(app.sites.url("/second.html"))
      _ = try await first.evaluate(trace)
      #expect(await app.until { pool.count == 1 })
      let seen = try await answer(pool, app.sites.url("/second.html"), look)
      #expect(try app.sites.log() == [])
      await app.end()
      return seen
    }

    @Test func storageIsEmptyInTheNextPage() async throws {
      let seen = try await leftover(
        "sessionStorage.mine = 1", "return [sessionStorage.length, document.cookie]")
      #expect(seen == #"[0,""]"#)
    }

    @Test func historyIsEmptyInTheNextPage() async throws {
      let seen = try await leftover(
        "history.pushState(1, '', '?1'); history.pushState(2, '', '?2'); return history.length",
        "return [history.length, history.state, document.referrer, location.search]")
      #expect(seen == #"[1,null,"",""]"#)
    }

    @Test func globalsAreUnsetInTheNextPage() async throws {
      let seen = try await leftover(
        "window.mine = 1; window.name = 'mine'; Object.prototype.mine = 1; document.body.id = 'mine'",
        "return [typeof window.mine, window.name, document.body.id]")
      #expect(seen == #"["undefined","",""]"#)
    }

    /// The page that replaces the blank page can't detect it.
    @Test func blankPageIsInvisibleToThePage() async throws {
      let (app, pool) = try await makePool {
        $0.page.scripts = [UserScript("window.runs = (window.runs || 0) + 1")]
      }
      await pool.fill()
      let blank = try #require(pool.pages.first)
      let seen = try await answer(
        pool, app.sites.url("/second.html"),
        "return [runs, history.length, document.referrer, performance.getEntriesByType('navigation').length, opener]"
      )
      #expect(seen == #"[1,1,"",1,null]"#)
      #expect(blank.url == app.sites.url("/second.html"))
      await app.end()
    }

    @Test func poolHoldsAtMostItsSize() async throws {
      let (app, pool) = try await makePool { $0.size = 2 }
      async let one: Void = pool.fill()
      async let other: Void = pool.fill()
      _ = await (one, other)
      await pool.fill()
      #expect(pool.count == 2)
      #expect(Processes.children(named: Self.webProcess).count == 2)
      let first = try await pool.open(app.sites.url("/second.html"))
      let second = try await pool.open(app.sites.url("/second.html"))
      #expect(await app.until { pool.count == 2 })
      await pool.fill()
      #expect(pool.count == 2)
      #expect(Processes.children(named: Self.webProcess).count == 4)
      _ = (first, second)
      await app.end()
    }

    /// A new process would compete for CPU just before the page's first paint.
    @Test func nextViewIsCreatedASecondAfterTheLoad() async throws {
      let (app, pool) = try await makePool()
      await pool.fill()
      let page = try await pool.open(app.sites.url("/second.html"))
      let loaded = ContinuousClock.now
      #expect(await app.until { pool.count == 1 })
      #expect(.now - loaded > .milliseconds(950))
      // At once if the app asks for it, and not after a memory warning.
      let other = try await pool.open(app.sites.url("/second.html"))
      await pool.fill()
      #expect(pool.count == 1)
      let third = try await pool.open(app.sites.url("/second.html"))
      pool.memoryIsShort()
      try await Task.sleep(for: .seconds(3))
      #expect(pool.count == 0)
      _ = (page, other, third)
      await app.end()
    }

    @Test func nextViewIsCreatedWhileALoadHangs() async throws {
      let (app, pool) = try await makePool()
      await pool.fill()
      let loading = Task { _ = try await pool.open(app.sites.url("/api/hang")) }
      #expect(try await app.until { try app.sites.log().contains("GET m.example.com/api/hang") })
      #expect(pool.count == 0)
      #expect(await app.until { pool.count == 1 })
      loading.cancel()
      _ = await loading.result
      await app.end()
    }

    @Test func viewsAreReplacedAfterTheirMaximumAge() async throws {
      let (app, pool) = try await makePool { $0.age = .seconds(2) }
      await pool.fill()
      weak let old = pool.pages.first
      #expect(old != nil)
      // It is replaced without a request.
      #expect(await app.until { old == nil && pool.count == 1 })
      #expect(await app.until { Processes.children(named: Self.webProcess).count == 1 })
      await app.end()
    }

    @Test func memoryWarningEmptiesThePool() async throws {
      let (app, pool) = try await makePool { $0.size = 2 }
      await pool.fill()
      #expect(pool.count == 2)
      pool.memoryIsShort()
      #expect(pool.count == 0)
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })

      // A view that is being created is removed, too.
      let filling = Task { await pool.fill() }
      #expect(await app.until { !Processes.children(named: Self.webProcess).isEmpty })
      pool.memoryIsShort()
      await filling.value
      #expect(pool.count == 0)
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })

      await pool.fill()
      #expect(pool.count == 2)
      await app.end()
    }

    @Test func bypassedAndForeignPagesGetAPlainView() async throws {
      let sites = try Sites()
      try sites.tell("run policy bypass add https://m.example.com:\(sites.told.port)/net/* -m test")
      let app = try await App(sites)
      var settings = PagePool.Settings(site: sites.url(""))
      settings.page.scripts = [UserScript("window.ours = true")]
      let pool = PagePool(app.host, settings)
      await pool.fill()
      let waiting = try #require(pool.pages.first)
      let look = "return [document.title, typeof window.ours]"
      let bypassed = try await answer(pool, sites.url("/net/plain.html"), look)
      #expect(bypassed == #"["from the network","undefined"]"#)
      #expect(try sites.log().first == "GET m.example.com/net/plain.html")
      let foreign = try await answer(pool, sites.url("/index.html", "foreign.test"), look)
      #expect(foreign?.hasSuffix(#","undefined"]"#) == true)
      #expect(pool.pages.first === waiting && pool.count == 1)
      let own = try await pool.open(sites.url("/second.html"))
      #expect(own === waiting)
      #expect(try await own.evaluate(look) == #"["second","boolean"]"#)
      await app.end()
    }

    /// From the blank page, a page of another site would be requested without its `SameSite=Strict` cookies.
    @Test func pagesOfAnotherSiteGetANewView() async throws {
      let sites = try Sites()
      try sites.tell("list foreign.test")
      let app = try await App(sites, hosts: Sites.hosts + ["foreign.test"])
      let pool = PagePool(app.host, .init(site: sites.url("")))
      await pool.fill()
      let waiting = pool.pages.first
      let page = try await pool.open(sites.url("/index.html", "foreign.test"))
      _ = try await page.evaluate("document.cookie = 'own=1; SameSite=Strict; Secure; Path=/'; return 1")
      let echo = try await pool.open(sites.url("/api/echo", "foreign.test"))
      #expect(try await echo.evaluate("return JSON.parse(document.body.innerText).cookie") == "\"own=1\"")
      #expect(pool.count == 1 && pool.pages.first === waiting)
      await app.end()
    }

    /// The page needs no other connection.
    @Test func pageUsesTheOpenConnection() async throws {
      let (app, pool) = try await makePool()
      await pool.fill()
      let port = try #require(app.host.proxyPort)
      let warm = Processes.connections(to: port)
      #expect(warm.count == 1)
      #expect(try await answer(pool, app.sites.url("/second.html"), "return document.title") == "\"second\"")
      #expect(Processes.connections(to: port) == warm)
      await app.end()
    }

    @Test func killedViewIsSkipped() async throws {
      let (app, pool) = try await makePool()
      await pool.fill()
      let ids = Processes.children(named: Self.webProcess)
      for id in ids { kill(id, SIGKILL) }
      #expect(await app.until { Set(Processes.children(named: Self.webProcess)).isDisjoint(with: ids) })
      #expect(await app.until { pool.pages.allSatisfy { !$0.isBlank } })
      #expect(try await answer(pool, app.sites.url("/second.html"), "return document.title") == "\"second\"")
      #expect(await app.until { pool.count == 1 })

      for id in Processes.children(named: "WebKitNetworkPr") { kill(id, SIGKILL) }
      #expect(try await answer(pool, app.sites.url("/second.html"), "return document.title") == "\"second\"")
      #expect(try app.sites.log() == [])
      await app.end()
    }

    /// WebKit hasn't reported the end of the process yet.
    @Test func viewKilledJustBeforeUseIsReplaced() async throws {
      let (app, pool) = try await makePool()
      for _ in 1...3 {
        await pool.fill()
        #expect(pool.count == 1)
        for id in Processes.children(named: Self.webProcess) { kill(id, SIGKILL) }
        // WebKit's main loop doesn't run in between: it notices during the load.
        #expect(
          try await answer(pool, app.sites.url("/second.html"), "return document.title") == "\"second\"")
      }
      #expect(try app.sites.log() == [])
      await app.end()
    }

    /// The app has taken the view, and WebKit has reported the end of its process or not.
    @Test(arguments: [true, false]) func viewKilledAfterItWasTakenLoadsItsPage(_ isKnown: Bool) async throws {
      let (app, pool) = try await makePool()
      for round in 1...2 {
        await pool.fill()
        let page = try pool.page(for: app.sites.url("/second.html"))
        #expect(page.isBlank)
        for id in Processes.children(named: Self.webProcess) { kill(id, SIGKILL) }
        if isKnown { #expect(await app.until { !page.isBlank }) }
        try await page.load(app.sites.url("/second.html"))
        // The blank page isn't in the history here, either.
        #expect(try await page.evaluate("return [document.title, history.length]") == #"["second",1]"#)
        try await page.load(app.sites.url("/frame.html"))
        try await page.goBack()
        #expect(try await page.evaluate("return document.title") == "\"second\"", "round \(round)")
      }
      #expect(try app.sites.log() == [])
      await app.end()
    }
  }
}
