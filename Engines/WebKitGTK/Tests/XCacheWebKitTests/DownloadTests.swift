import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Downloads that pages start.
  @Suite(.serialized)
  @WebActor
  struct DownloadTests {
    /// An app, a folder for its downloads, and a loaded page.
    private func downloading(_ sites: Sites) async throws -> (app: App, folder: URL, page: WebPage) {
      let app = try await App(sites)
      let folder = app.folder.appendingPathComponent("downloads")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      return (app, folder, page)
    }

    private func names(in folder: URL) -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    /// WebKit drops the download without an event.
    @Test func downloadFailsWhenTheNetworkProcessIsKilled() async throws {
      let sites = try Sites()
      let (app, folder, page) = try await downloading(sites)
      var ended: [String] = []
      app.host.onDownload = { download in
        do {
          try await download.save(to: folder.appendingPathComponent(download.suggestedName).path)
          ended.append(download.suggestedName)
        } catch let error as WebKitError {
          ended.append(error.message)
        } catch {}
      }
      let slow = "location.href = '/api/attachment?size=300000&name=slow.own&pause=30'; return 1"
      _ = try await page.evaluate(slow)
      #expect(await app.until { names(in: folder).contains { $0.hasSuffix(".wkdownload") } })
      for id in Processes.children(named: "WebKitNetworkPr") { Foundation.kill(id, SIGKILL) }
      #expect(await app.until { !ended.isEmpty })
      #expect(ended == ["WebKit's network process ended"])
      #expect(names(in: folder) == [])
      // The next download succeeds, even though its page is closed.
      var other: WebPage? = try WebPage(app.host)
      try await other?.load(sites.url("/second.html"))
      _ = try await other?.evaluate(slow.replacing("30'", with: "2'"))
      #expect(await app.until { names(in: folder).contains { $0.hasSuffix(".wkdownload") } })
      other = nil
      #expect(await app.until { ended.count == 2 })
      #expect(ended.last == "slow.own" && names(in: folder) == ["slow.own"])
      await app.end()
    }

    /// The page that started the download, not its target, which is never shown.
    @Test func downloadsNameThePageThatStartedThem() async throws {
      let sites = try Sites()
      let (app, _, page) = try await downloading(sites)
      let foreign = try WebPage(app.host)
      try await foreign.load(sites.url("/index.html", "foreign.test"))
      var offered: [String] = []
      app.host.onDownload = { offered.append($0.pageURL) }
      let link = "/api/attachment?size=10&name=x.own"
      for (view, to) in [(page, sites.url(link, "foreign.test")), (foreign, sites.url(link))] {
        for script in [
          "location.href = '\(to)'",
          "location.href = '\(sites.url("/api/redirect"))?to=' + encodeURIComponent('\(to)')",
        ] {
          offered = []
          _ = try await view.evaluate("\(script); return 1")
          #expect(await app.until { !offered.isEmpty })
          #expect(
            offered == [view === page ? sites.url("/second.html") : sites.url("/index.html", "foreign.test")])
        }
      }
      await app.end()
    }

    @Test func longDownloadNamesAreShortened() async throws {
      let sites = try Sites()
      let (app, folder, page) = try await downloading(sites)
      var saved: [String] = []
      app.host.onDownload = { download in
        let name = "\(UUID().uuidString)-\(download.suggestedName)"
        try? await download.save(to: folder.appendingPathComponent(name).path)
        saved.append(download.suggestedName)
      }
      for (given, expected) in [
        ("'n'.repeat(300) + '.own'", String(repeating: "n", count: 196) + ".own"),
        ("'€'.repeat(300) + '.own'", String(repeating: "€", count: 65) + ".own"),
        ("'a.' + 'b'.repeat(300)", "a." + String(repeating: "b", count: 198)),
        ("'short.own'", "short.own"),
      ] {
        saved = []
        _ = try await page.evaluate(
          """
          const href = URL.createObjectURL(new Blob(['text']));
          const link = Object.assign(document.createElement('a'), {href, download: \(given)});
          document.body.append(link); link.click(); link.remove(); return 1
          """)
        #expect(await app.until { !saved.isEmpty })
        #expect(saved == [expected])
        #expect(names(in: folder).contains { $0.hasSuffix(expected) }, "\(given)")
      }
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

    @Test func downloadsAreSavedOrFail() async throws {
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

      // Without a handler, the load fails.
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
      // A name with a path to another folder.
      #expect(
        try await end {
          _ = try await page.evaluate(
            "location.href = '/api/attachment?size=10&name=../../refused.own'; return 1")
        } == "refused.own 200 application/x-own 10")
      // The connection breaks.
      #expect(
        try await end {
          try await click("/api/attachment?size=300000&name=x&breaks=", "broken.bin", in: page)
        }
          == "failed: x 200 application/x-own 300000")
      // The file already exists.
      #expect(
        try await end { try await click("/digits.txt", "report.own", in: page) }
          == "failed: report.own 200 text/plain 100")
      #expect(try files() == ["own name.bin", "report.own"])
      #expect(try Data(contentsOf: folder.appendingPathComponent("report.own")).count == 300_000)
      // The site is stopped.
      try sites.tell("stop")
      #expect(
        try await end { try await click("/digits.txt", "offline.txt", in: page) }
          == "offline.txt 200 text/plain 100")
      #expect(
        try Data(contentsOf: folder.appendingPathComponent("offline.txt"))
          == Data(String(repeating: "0123456789", count: 10).utf8))
      #expect(Downloads.unwanted() == [])
      // The page is unchanged.
      #expect(try await page.evaluate("return document.title") == "\"second\"")
      await app.end()
    }
  }
}

/// The folders where WebKit saves downloads by default.
private enum Downloads {
  static func unwanted() -> [String] {
    let home = FileManager.default.homeDirectoryForCurrentUser
    let folders = [home, home.appendingPathComponent("Downloads"), URL(fileURLWithPath: ".")]
    return folders.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0.path)) ?? [] }
      .filter { $0.hasPrefix("unwanted") }
  }
}
