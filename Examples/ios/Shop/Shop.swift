import DeviceApple
import Foundation
import Network
import WebKit
import XCacheDevice
import XCacheRuntime

/// The runtime and the engine of this app.
@MainActor
final class Shop {
  /// The hosts whose pages the device may answer, and no others.
  static let hosts = ["m.example.com", "cdn.example.com"]
  static let home = "https://m.example.com/index.html"

  let runtime: Runtime
  let host: WebHost
  private let monitor = NWPathMonitor()

  init() async throws {
    // Below Caches, out of backups, readable from the first unlock on.
    let device = try DeviceSettings(server: "https://xcache.example.com", app: "shop", hosts: Self.hosts)
    var settings = RuntimeSettings(device)
    // The origin's bundle/N.zip, added to the app's resources when it is built: the first start needs no network.
    settings.preset = Bundle.main.path(forResource: "shop", ofType: "zip")
    settings.build = Bundle.main.object(forInfoDictionaryKey: "CFBundleVersion") as? String ?? ""
    // One store of cookies for pages and for calls that are sent ahead of them.
    var engine = WebHostSettings()
    settings.fetcher = PageFetcher(engine.transport, cookies: engine.cookies)
    runtime = try await Runtime(settings, transport: URLSessionTransport())
    if let fault = runtime.fault { print("pages come from the network: \(fault)") }
    engine.way = .proxy
    host = await WebHost(runtime, hosts: Self.hosts, engine)
    watchNetwork()
    let runtime = runtime
    Task { await runtime.handle(.launch) }
  }

  /// The runtime waits with large updates while bytes cost money, and polls nobody while there is no network.
  private func watchNetwork() {
    let runtime = runtime
    monitor.pathUpdateHandler = { path in
      let isMetered = path.isExpensive || path.isConstrained
      runtime.changeConditions {
        $0.network = path.status != .satisfied ? .offline : isMetered ? .metered : .unmetered
      }
    }
    monitor.start(queue: .global())
  }

  func enteredForeground() async {
    runtime.conditions.isForeground = true
    // Before anything is loaded: the system may have taken the proxy's socket.
    await host.enteredForeground()
    await runtime.handle(.foreground)
  }

  func enteredBackground() { runtime.conditions.isForeground = false }
}
