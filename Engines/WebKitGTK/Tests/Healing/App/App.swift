import DeviceLinux
import Foundation
import WebKitTestSupport
import XCacheDevice
import XCacheRuntime
import XCacheWebKit

/// One start of an app, as `Tests/Healing/run.py` makes it: it opens a page, follows what becomes of it, and ends.
///
///     healing-app SETUP      SETUP: a line of JSON
///
/// It writes a line of JSON for each thing that happens, with the milliseconds since the start.
@main
enum App {
  /// What this start does.
  struct Setup: Decodable {
    /// The folder for the app's data; the same folder is the same device.
    let folder: String
    /// A PEM file of the certificate that the site shows.
    let certificate: String
    let server: String
    let app: String
    /// The page.
    let url: String
    /// Whether to look for an update at the start.
    let launches: Bool
    /// The seconds that the page stays open after it came up; if it doesn't come up, it stays.
    let stays: Double
    /// The seconds after which the window is closed, whatever it shows; nil if nobody does.
    let closes: Double?
    /// The version to wait for before the app ends.
    let awaits: String?
  }

  private static let start = ContinuousClock.now
  private static let output = NSLock()

  static func main() async throws {
    let setup = try JSONDecoder().decode(Setup.self, from: Data(CommandLine.arguments[1].utf8))
    let app = try await Window(setup)
    // As a system ends an app: in an orderly way.
    signal(SIGTERM, SIG_IGN)
    let asked = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    asked.setEventHandler { Task { await app.end() } }
    asked.resume()
    await app.run()
    await app.end()
  }

  static func say(_ what: String, _ value: String = "") {
    let text = (try? JSONEncoder().encode([what, value])).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    output.withLock {
      print("{\"at\":\((.now - start) / .milliseconds(1)),\"is\":\(text)}")
      fflush(nil)
    }
  }
}

/// The app's only window.
@WebActor
final class Window {
  private let setup: App.Setup
  private let runtime: Runtime
  private let host: WebHost
  private var page: WebPage?
  private var isEnding = false

  /// What the page shows: the build of its document, the builds that its scripts are from, whether it has painted, and how much there is.
  private static let look = """
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    return [document.querySelector('meta[name=build]')?.content ?? '', [...new Set(window.built ?? [])].sort().join('+'),
      paint ? 'painted' : '', document.querySelectorAll('#root *').length > 0 ? 'full' : ''].join(' ');
    """

  init(_ setup: App.Setup) async throws {
    self.setup = setup
    let name = URL(string: setup.url)?.host ?? ""
    var engine = WebHostSettings()
    engine.folder = setup.folder + "/engine"
    engine.transport = CurlPageTransport(resolver: LocalNames(), authorities: setup.certificate)
    engine.network = LinuxProxyNetwork(authorities: setup.certificate, resolver: LocalNames())
    let device = DeviceSettings(
      folder: setup.folder + "/device", server: setup.server, app: setup.app, hosts: [name])
    runtime = try await Runtime(RuntimeSettings(device), transport: CurlTransport())
    if let fault = runtime.fault { App.say("fault", "\(fault)") }
    App.say("held", runtime.version)
    host = try WebHost(runtime, engine)
    try host.trust(String(contentsOfFile: setup.certificate, encoding: .utf8), for: name)
  }

  func run() async {
    let events = runtime.events
    let (runtime, setup) = (runtime, setup)
    Task { @WebActor in
      for await event in events {
        switch event {
        case .switched(let from, let to): App.say("switched", "\(from) \(to)")
        case .returned(let from, let to, let cause, _):
          App.say("returned", "\(from) \(to) \(cause)")
          // As an app should: what is on the screen doesn't work.
          await show()
        case .pageFailed(_, let version): App.say("failed twice", version)
        case .failed(let error): App.say("error", "\(error)")
        default: break
        }
      }
    }
    if setup.launches {
      Task {
        let report = await runtime.handle(.launch)
        App.say("polled", report.map { "\($0.from) \($0.to)" } ?? "")
      }
    }
    await show()
    let begin = ContinuousClock.now
    if let closes = setup.closes {
      // As a hand does, also while the page doesn't answer.
      let limit = begin + .seconds(closes)
      Task { @WebActor in
        try? await Task.sleep(until: limit)
        page = nil
        App.say("closed")
      }
    }
    var (last, shown): (String, ContinuousClock.Instant?) = ("", nil)
    while true {
      try? await Task.sleep(for: .milliseconds(100))
      guard let page else { break }
      let text = (try? await page.evaluate(Self.look, timeout: .seconds(1))) ?? "\"no answer\""
      if text != last { App.say("shows", text.trimmingCharacters(in: ["\""])) }
      last = text
      guard text.contains("painted full") else {
        shown = nil
        continue
      }
      shown = shown ?? .now
      if let shown, .now - shown >= .seconds(setup.stays), setup.closes == nil { break }
    }
    while isEnding { try? await Task.sleep(for: .seconds(1)) }
    while let version = setup.awaits, runtime.version != version {
      try? await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Opens the page; without waiting for the end of the load, which may never come.
  private func show() async {
    if isEnding { return }
    do {
      let page = try WebPage(host, settings())
      page.onEvent = { event in
        switch event {
        case .terminated: App.say("terminated")
        case .failed(_, let error): App.say("load failed", "\(error)")
        default: break
        }
      }
      self.page = page
      App.say("opens")
      Task { @WebActor in try? await page.load(setup.url) }
    } catch {
      App.say("error", "\(error)")
    }
  }

  /// The app has a part in native code, which pages call, and which may be what fails.
  private func settings() -> WebPageSettings {
    var settings = WebPageSettings()
    settings.isFullScreen = true
    settings.messages["native"] = { message in
      App.say("native", message ?? "")
      switch message {
      case "\"crash\"": kill(getpid(), SIGSEGV)
      case "\"freeze\"": while true { sleep(1000) }
      default: break
      }
    }
    return settings
  }

  func end() async {
    if isEnding { return }
    isEnding = true
    page = nil
    await runtime.close()
    App.say("ends", runtime.version)
    exit(0)
  }
}
