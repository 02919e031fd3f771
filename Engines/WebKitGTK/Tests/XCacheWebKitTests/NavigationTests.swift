import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// What becomes of a view as its user goes on: history and downloads.
  @Suite(.serialized)
  @WebActor
  struct NavigationTests {
    /// Follows a link, goes back and forward by the app, and back by the page.
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
    func history(_ state: String) async throws {
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
          // WebKit restores no document as it was left that came with no-store.
          state == "kill" ? "true" : "false", #"["frame","/frame.html",2]"#, #"["second","/second.html",2]"#,
        ])
      if state != "kill" { #expect(try sites.log() == []) }
      await app.end()
    }

    /// What becomes of a link to something that no engine shows, and of a load of it by the app.
    private func meet(_ path: String, from page: WebPage, _ app: App) async throws -> String {
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
      // The view loads the next page all the same.
      try await other.load(app.sites.url("/second.html"))
      var titles: [String?] = []
      for view in [page, other] {
        titles.append(
          try await view.evaluate(
            "return [document.title, history.length, (await (await fetch('/digits.txt')).text()).length]"))
      }
      return "\(failures) \(titles.map { $0 ?? "" })"
    }

    /// As WebKit does it by itself, which gives up what it can't show, and downloads attachments, if the app takes them.
    @Test(arguments: ["kill", "up", "stop"])
    func whatIsNotShown(_ state: String) async throws {
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
        #expect(try await meet(path, from: page, app) == "\([true, true]) \(titles)", "\(path)")
      }
      #expect(await app.until { offered == (state == "stop" ? [] : ["report.own", "report.own"]) })
      await app.end()
    }

    /// Requests that may be of a bypassed page go to the network; what the engine didn't show is none.
    @Test func aDownloadIsNoBypassedPage() async throws {
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

    private func click(_ href: String, _ name: String, in page: WebPage) async throws {
      _ = try await page.evaluate(
        """
        const link = Object.assign(document.createElement('a'), {href: '\(href)', download: '\(name)'});
        document.body.append(link); link.click(); link.remove(); return 1
        """)
    }

    private static func pattern(_ size: Int) -> Data { Data((0..<size).map { UInt8($0 & 255) }) }

    @Test func downloads() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let folder = app.folder.appendingPathComponent("downloads")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      var ended: [String] = []
      let take: @WebActor (WebDownload) async -> Void = { download in
        let about =
          "\(download.suggestedName) \(download.status) \(download.type) \(download.length ?? -1)"
        #expect(download.pageURL == sites.url("/second.html"))
        do {
          if !download.suggestedName.hasPrefix("refused") {
            try await download.save(to: folder.appendingPathComponent(download.suggestedName).path)
          }
          ended.append(about)
        } catch {
          FileHandle.standardError.write(Data("\(about): \(error)\n".utf8))
          ended.append("failed: \(about)")
        }
      }
      func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      }
      func end(_ start: () async throws -> Void) async throws -> String? {
        ended = []
        try await start()
        _ = await app.until { !ended.isEmpty }
        return ended.first
      }

      // Without a handler, which is a load that fails.
      var hasFailed = false
      page.onEvent = { if case .failed = $0 { hasFailed = true } }
      _ = try await page.evaluate("location.href = '/api/attachment?size=10&name=unwanted.txt'; return 1")
      #expect(await app.until { hasFailed })
      app.host.onDownload = take
      // From the device.
      _ = try sites.log()
      #expect(
        try await end { try await click("/large.bin", "own name.bin", in: page) }
          == "own name.bin 200 application/octet-stream 6291456")
      #expect(
        try Data(contentsOf: folder.appendingPathComponent("own name.bin")) == Self.pattern(6_291_456))
      #expect(try sites.log() == [])
      // From the network, as an attachment.
      #expect(
        try await end {
          _ = try await page.evaluate("location.href = '/api/attachment?size=300000&name=report.own'")
        } == "report.own 200 application/x-own 300000")
      #expect(try Data(contentsOf: folder.appendingPathComponent("report.own")) == Self.pattern(300_000))
      // Refused.
      #expect(
        try await end { try await click("/digits.txt", "refused.txt", in: page) }
          == "refused.txt 200 text/plain 100")
      // A name that leads elsewhere.
      #expect(
        try await end {
          _ = try await page.evaluate(
            "location.href = '/api/attachment?size=10&name=../../refused.own'; return 1")
        } == "refused.own 200 application/x-own 10")
      // Broken off.
      #expect(
        try await end {
          try await click("/api/attachment?size=300000&name=x&breaks=", "broken.bin", in: page)
        }
          == "failed: x 200 application/x-own 300000")
      // A name that is there already.
      #expect(
        try await end { try await click("/digits.txt", "report.own", in: page) }
          == "failed: report.own 200 text/plain 100")
      #expect(try files() == ["own name.bin", "report.own"])
      #expect(try Data(contentsOf: folder.appendingPathComponent("report.own")).count == 300_000)
      // The site is gone.
      try sites.tell("stop")
      #expect(
        try await end { try await click("/digits.txt", "offline.txt", in: page) }
          == "offline.txt 200 text/plain 100")
      #expect(
        try Data(contentsOf: folder.appendingPathComponent("offline.txt"))
          == Data(String(repeating: "0123456789", count: 10).utf8))
      #expect(Downloads.usual() == [])
      // The page is as it was.
      #expect(try await page.evaluate("return document.title") == "\"second\"")
      await app.end()
    }
  }
}

/// Where WebKit puts what nobody took.
private enum Downloads {
  static func usual() -> [String] {
    let home = FileManager.default.homeDirectoryForCurrentUser
    let folders = [home, home.appendingPathComponent("Downloads"), URL(fileURLWithPath: ".")]
    return folders.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0.path)) ?? [] }
      .filter { $0.hasPrefix("unwanted") }
  }
}
