import DeviceLinux
import Foundation
import WebKitTestSupport
import XCacheDevice
import XCacheRuntime
import XCacheWebKit

/// One visitor of `Benchmarks/open_webkit.py`, which writes a line of JSON for each act and reads one back.
@main
enum Bench {
  /// The first line of the input.
  struct Setup: Decodable {
    /// The folder for this visitor's data; the same folder is the same visitor.
    let folder: String
    /// A PEM file of the certificate that the site and the servers show.
    let certificate: String
    /// `https://m.localhost:4433`
    let site: String
    /// The origin; nil for WebKit on its own.
    let server: String?
    let app: String
  }

  /// Each further line of the input.
  struct Act: Decodable {
    /// `launch` takes what is published, `wait` prepares a warm view, `open` opens `url`, and `counts` returns the counts of
    /// the calls sent ahead.
    let act: String
    let url: String?
    /// Whether to open the page in the warm view.
    let isWarm: Bool?
    /// Whether there is no network, and so no data.
    let isOffline: Bool?
  }

  static func main() async throws {
    guard let line = readLine() else { return }
    let visitor = try await Visitor(JSONDecoder().decode(Setup.self, from: Data(line.utf8)))
    print("{}")
    fflush(nil)
    while let line = readLine() {
      let act = try JSONDecoder().decode(Act.self, from: Data(line.utf8))
      print(try await visitor.does(act))
      fflush(nil)
    }
    await visitor.end()
  }
}

/// A running app: its runtime, its engine, and possibly a warm view.
@WebActor
final class Visitor {
  private let setup: Bench.Setup
  private let runtime: Runtime?
  private let host: WebHost
  private var pool: PagePool?
  /// The warm view of WebKit on its own.
  private var waiting: WebPage?
  private var shown: WebPage?

  init(_ setup: Bench.Setup) async throws {
    self.setup = setup
    let name = URL(string: setup.site)?.host ?? ""
    var engine = WebHostSettings()
    engine.folder = setup.folder + "/engine"
    engine.transport = CurlPageTransport(resolver: LocalNames(), authorities: setup.certificate)
    engine.network = LinuxProxyNetwork(authorities: setup.certificate, resolver: LocalNames())
    if let server = setup.server {
      let device = DeviceSettings(
        folder: setup.folder + "/device", server: server, app: setup.app, hosts: [name])
      var settings = RuntimeSettings(device)
      settings.fetcher = PageFetcher(engine.transport, cookies: engine.cookies)
      runtime = try await Runtime(settings, transport: CurlTransport())
    } else {
      runtime = nil
    }
    host = try WebHost(runtime, engine)
    // Until the device answers for the site, its connections are tunnelled.
    try host.trust(String(contentsOfFile: setup.certificate, encoding: .utf8), for: name)
    // The app has shown something before: WebKit's libraries are loaded, and its network process is running.
    try await WebPage(host).load("about:blank")
  }

  func does(_ act: Bench.Act) async throws -> String {
    switch act.act {
    case "launch":
      _ = await runtime?.handle(.launch)
      return #"{"version":"\#(runtime?.version ?? "0")"}"#
    case "counts":
      return #"{"used":\#(runtime?.prefetchCounts.used ?? 0)}"#
    case "wait":
      try await waits()
      return "{}"
    default:
      return try await open(act.url ?? "", isWarm: act.isWarm ?? false, isOffline: act.isOffline ?? false)
    }
  }

  private func waits() async throws {
    guard runtime != nil else {
      let page = try WebPage(host)
      try await page.loadBlank(setup.site + "/blank.html")
      waiting = page
      return
    }
    let pool = PagePool(host, .init(site: setup.site))
    await pool.fill()
    guard pool.count == 1 else { throw CancellationError() }
    self.pool = pool
  }

  /// Opens a page; returns the milliseconds from here to first contentful paint, load, and the data of the page's call.
  private func open(_ url: String, isWarm: Bool, isOffline: Bool) async throws -> String {
    let begin = Date().timeIntervalSince1970 * 1000
    let page: WebPage
    if let pool, isWarm {
      page = try await pool.open(url)
    } else if let waiting, isWarm {
      try await waiting.replaceBlank(by: url)
      page = waiting
    } else {
      page = try WebPage(host)
      try await page.load(url)
    }
    shown = page
    // The page itself records the times; this only waits for them.
    let script = """
      const paint = () => performance.getEntriesByName('first-contentful-paint')[0];
      const wait = () => new Promise(done => setTimeout(done, 20));
      const isThere = () => paint() && ui.childElementCount > 0 && (window.shownAt && window.otherAt || \(isOffline));
      for (let i = 0; i < 3000 && !isThere(); i++) await wait();
      const begin = \(begin), origin = performance.timeOrigin - begin;
      const [entry] = performance.getEntriesByType('navigation');
      return {title: document.title, began: origin, fcp: origin + paint().startTime, load: origin + entry.loadEventEnd,
        data: window.shownAt - begin, other: window.otherAt - begin};
      """
    return try await page.evaluate(script, timeout: .seconds(90)) ?? "{}"
  }

  func end() async {
    (pool, waiting, shown) = (nil, nil, nil)
    await runtime?.close()
  }
}
