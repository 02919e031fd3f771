import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Views that wait for their page.
  @Suite(.serialized)
  @WebActor
  struct PoolTests {
    private static let webProcess = "WebKitWebProces"

    private func made(
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

    /// Leaves something in a page, has the next one look for it, and gives what that saw.
    private func left(_ trace: String, _ look: String) async throws -> String? {
      let (app, pool) = try await made()
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

    @Test func nothingIsLeftInStorage() async throws {
      let seen = try await left("sessionStorage.mine = 1", "return [sessionStorage.length, document.cookie]")
      #expect(seen == #"[0,""]"#)
    }

    @Test func nothingIsLeftInTheHistory() async throws {
      let seen = try await left(
        "history.pushState(1, '', '?1'); history.pushState(2, '', '?2'); return history.length",
        "return [history.length, history.state, document.referrer, location.search]")
      #expect(seen == #"[1,null,"",""]"#)
    }

    @Test func nothingIsLeftOfScripts() async throws {
      let seen = try await left(
        "window.mine = 1; window.name = 'mine'; Object.prototype.mine = 1; document.body.id = 'mine'",
        "return [typeof window.mine, window.name, document.body.id]")
      #expect(seen == #"["undefined","",""]"#)
    }

    /// The blank page is none to the page that takes its place.
    @Test func theBlankPageLeavesNothing() async throws {
      let (app, pool) = try await made {
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

    @Test func noMoreThanItsSize() async throws {
      let (app, pool) = try await made { $0.size = 2 }
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

    /// Its process would take the page's processors just before the first paint.
    @Test func theNextViewIsMadeASecondAfterTheLoad() async throws {
      let (app, pool) = try await made()
      await pool.fill()
      let page = try await pool.open(app.sites.url("/second.html"))
      let loaded = ContinuousClock.now
      #expect(await app.until { pool.count == 1 })
      #expect(.now - loaded > .milliseconds(950))
      // At once where the app says so, and never where memory was short since.
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

    @Test func aPageThatIsNeverLoadedKeepsNoViewFromBeingMade() async throws {
      let (app, pool) = try await made()
      await pool.fill()
      let loading = Task { _ = try await pool.open(app.sites.url("/api/hang")) }
      #expect(try await app.until { try app.sites.log().contains("GET m.example.com/api/hang") })
      #expect(pool.count == 0)
      #expect(await app.until { pool.count == 1 })
      loading.cancel()
      _ = await loading.result
      await app.end()
    }

    @Test func noOlderThanItsAge() async throws {
      let (app, pool) = try await made { $0.age = .seconds(2) }
      await pool.fill()
      weak let old = pool.pages.first
      #expect(old != nil)
      // Another one takes its place without anybody asking.
      #expect(await app.until { old == nil && pool.count == 1 })
      #expect(await app.until { Processes.children(named: Self.webProcess).count == 1 })
      await app.end()
    }

    @Test func aMemoryWarningEmptiesIt() async throws {
      let (app, pool) = try await made { $0.size = 2 }
      await pool.fill()
      #expect(pool.count == 2)
      pool.memoryIsShort()
      #expect(pool.count == 0)
      #expect(await app.until { Processes.children(named: Self.webProcess).isEmpty })

      // One that is being made goes, too.
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

    @Test func othersGetAPlainView() async throws {
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

    /// From the blank page, one of another site would be asked for without its `SameSite=Strict` cookies.
    @Test func pagesOfAnotherSiteGetAViewOfTheirOwn() async throws {
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

    /// Its page needs no other one.
    @Test func oneConnectionIsWarm() async throws {
      let (app, pool) = try await made()
      await pool.fill()
      let port = try #require(app.host.proxyPort)
      let warm = Processes.connections(to: port)
      #expect(warm.count == 1)
      #expect(try await answer(pool, app.sites.url("/second.html"), "return document.title") == "\"second\"")
      #expect(Processes.connections(to: port) == warm)
      await app.end()
    }

    @Test func aViewThatWasKilledIsPassedOver() async throws {
      let (app, pool) = try await made()
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

    /// WebKit hasn't said yet that its process is gone.
    @Test func aViewThatWasKilledJustNowIsReplaced() async throws {
      let (app, pool) = try await made()
      for _ in 1...3 {
        await pool.fill()
        #expect(pool.count == 1)
        for id in Processes.children(named: Self.webProcess) { kill(id, SIGKILL) }
        // No turn of WebKit's thread in between: it hears of it in the middle of the load.
        #expect(
          try await answer(pool, app.sites.url("/second.html"), "return document.title") == "\"second\"")
      }
      #expect(try app.sites.log() == [])
      await app.end()
    }

    /// The app has taken the view, and WebKit has said that its process is gone, or hasn't yet.
    @Test(arguments: [true, false]) func aViewThatWasTakenAndKilledLoadsItsPage(_ isKnown: Bool) async throws
    {
      let (app, pool) = try await made()
      for round in 1...2 {
        await pool.fill()
        let page = try pool.page(for: app.sites.url("/second.html"))
        #expect(page.isBlank)
        for id in Processes.children(named: Self.webProcess) { kill(id, SIGKILL) }
        if isKnown { #expect(await app.until { !page.isBlank }) }
        try await page.load(app.sites.url("/second.html"))
        // The blank page isn't in its history, then either.
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
