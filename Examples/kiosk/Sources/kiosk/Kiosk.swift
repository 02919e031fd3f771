import DeviceLinux
import Foundation
import XCacheDevice
import XCacheRuntime
import XCacheWebKit

/// A kiosk: one page on the whole screen, from this device wherever it has it, and always the newest release.
@main
enum Kiosk {
  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count == 4, let host = URL(string: words[3])?.host else {
      say("usage: kiosk SERVER APP PAGE, as in: kiosk https://origin.example.com shop https://m.example.com/")
      exit(2)
    }
    let environment = ProcessInfo.processInfo.environment
    let data = environment["XDG_DATA_HOME"] ?? (environment["HOME"] ?? NSHomeDirectory()) + "/.local/share"
    var engine = WebHostSettings()
    engine.folder = data + "/kiosk/engine"
    var settings = RuntimeSettings(
      DeviceSettings(folder: data + "/kiosk/device", server: words[1], app: words[2], hosts: [host]))
    // Calls that the channel's prefetch config names go out with the page, with the engine's cookies.
    settings.fetcher = PageFetcher(engine.transport, cookies: engine.cookies)
    let runtime = try await Runtime(settings, transport: CurlTransport())
    if let fault = runtime.fault { say("the device answers nothing: \(fault)") }
    let events = runtime.events
    Task {
      await runtime.handle(.launch)
      while !Task.isCancelled {
        try await Task.sleep(for: .seconds(60))
        await runtime.handle(.push)
      }
    }
    try await show(words[3], WebHost(runtime, engine), events)
  }

  @WebActor
  static func show(_ url: String, _ host: WebHost, _ events: AsyncStream<RuntimeEvent>) async throws {
    var settings = WebPageSettings()
    settings.isFullScreen = true
    let page = try WebPage(host, settings)
    var loading: Task<Void, Never>?
    // Doesn't wait for the load before: a part of that page may never come.
    func open(after pause: Duration = .zero) {
      loading?.cancel()
      loading = Task {
        do {
          try await Task.sleep(for: pause)
          try await page.load(url)
        } catch { if !Task.isCancelled { say("\(url): \(error)") } }
      }
    }
    // A page may end its process again and again: the pause leaves the machine its time.
    page.onEvent = { if $0 == .terminated { open(after: .seconds(5)) } }
    // Without a network this is what the device holds.
    open()
    for await case .switched(_, let version) in events {
      say("version \(version)")
      open()
    }
  }

  static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
