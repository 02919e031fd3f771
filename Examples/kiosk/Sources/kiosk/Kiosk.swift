import DeviceLinux
import Foundation
import XCacheClient
import XCacheRuntime
import XCacheWebKit

/// A kiosk: one page on the whole screen, from this device wherever it has it, and always the newest release.
@main
enum Kiosk {
  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count == 4, let host = URL(string: words[3])?.host else {
      print(
        "usage: kiosk SERVER APP PAGE, as in: kiosk https://origin.example.com shop https://m.example.com/")
      exit(2)
    }
    let folder = FileManager.default.homeDirectoryForCurrentUser.path + "/.local/share/kiosk"
    var engine = WebHostSettings()
    engine.folder = folder + "/engine"
    var settings = RuntimeSettings(
      DeviceSettings(folder: folder + "/device", server: words[1], app: words[2], hosts: [host]))
    // Calls that the channel's prefetch config names go out with the page, with the engine's cookies.
    settings.fetcher = PageFetcher(engine.transport, cookies: engine.cookies)
    let runtime = try await Runtime(settings, transport: CurlTransport())
    let events = runtime.events
    Task {
      await runtime.handle(.launch)
      while !Task.isCancelled {
        try await Task.sleep(for: .seconds(60))
        await runtime.handle(.push)
      }
    }
    // Without a network this is what the device holds.
    let screen = try await Screen(WebHost(runtime, engine), words[3])
    await screen.open()
    for await event in events {
      guard case .switched(_, let version) = event else { continue }
      say("version \(version)")
      await screen.open()
    }
  }
}

func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

/// The page on the screen.
@WebActor
final class Screen {
  private let page: WebPage
  private let url: String

  init(_ host: WebHost, _ url: String) throws {
    self.url = url
    var settings = WebPageSettings()
    settings.isFullScreen = true
    page = try WebPage(host, settings)
  }

  func open() async {
    do { try await page.load(url) } catch { say("\(url): \(error)") }
  }
}
