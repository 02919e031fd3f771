import DeviceLinux
import Foundation
import HTTPDNS
import PreviewProtocol
import XCacheDevice
import XCacheRuntime
import XCacheWebKit

/// What all pages of a run share: the runtime over the device's folder, and the access to the network.
final class Engine: Sendable {
  let settings: EngineSettings
  let runtime: Runtime
  let memory: MemoryWatch
  private let transport: LookTransport
  private let network: LookNetwork
  /// Where requests other than https go, which neither the device nor the app's proxy answers; nil for the usual way.
  private let deadEnd: UInt16?
  /// PEM certificates, trusted for the hosts in `addresses`.
  private let certificates: String?

  /// - Throws: `Refusal` if the folder can't be used, and the errors of the runtime.
  init(_ settings: EngineSettings, folder: String) async throws {
    self.settings = settings
    let isOffline = settings.offline ?? false
    let isConfined = settings.confined ?? false
    let line = settings.network.map { Line($0) }
    let resolver = try settings.addresses.map { try KnownAddresses($0) }
    var device = DeviceSettings(
      folder: settings.local ?? true ? settings.folder : folder + "/empty", server: settings.server,
      app: settings.app, hosts: settings.hosts, channel: settings.channel ?? "online")
    // The whole release has to be available, so nothing may be evicted.
    device.diskLimit = 1 << 40
    // Remove the runtime's notes of failed pages and early exits, because of which it would leave pages to the network.
    for name in ["pages.json", "starting"] {
      try? FileManager.default.removeItem(atPath: "\(device.folder)/\(name)")
    }
    var runtimeSettings = RuntimeSettings(device)
    runtimeSettings.pageDeadline = 600_000
    runtime = try await Runtime(
      runtimeSettings,
      transport: FileTransport(
        base: CurlTransport(resolver: resolver), isOffline: isOffline || isConfined, line: line))
    if let fault = runtime.fault {
      throw Refusal("the device's folder \(settings.folder) can't be used: \(fault)")
    }
    // No polls and no reports, so that this isn't counted as a device.
    runtime.changeConditions { $0.network = .offline }
    memory = MemoryWatch(limit: settings.memory ?? 2_048)
    transport = LookTransport(
      base: CurlPageTransport(resolver: resolver, authorities: settings.authorities), isOffline: isOffline,
      isConfined: isConfined, line: line)
    network = LookNetwork(
      LinuxProxyNetwork(authorities: settings.authorities, resolver: resolver),
      refusal: isConfined
        ? "the page is opened without a network" : isOffline ? "there is no network" : nil,
      line: line)
    deadEnd = isOffline || isConfined ? try DeadEnd.make() : nil
    certificates = try settings.authorities.map { path in
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw Refusal("the certificates \(path) can't be read")
      }
      return text
    }
  }

  var name: String { "WebKitGTK \(WebHost.engineVersion)" }

  /// The version of the manifest held.
  var version: String { runtime.version }

  /// Creates an engine for one page that leaves nothing for the next: it has its own cookies, storage, caches and proxy, so
  /// that each request can be attributed to its page.
  @WebActor
  func host(_ log: RequestLog) throws -> WebHost {
    var host = WebHostSettings()
    host.transport = transport
    host.network = network
    if settings.confined ?? false { host.moreHosts = settings.hosts.filter { !$0.hasPrefix("*") } }
    host.otherProxy = deadEnd.map { "http://127.0.0.1:\($0)" }
    host.onRequest = { log.take($0) }
    let made = try WebHost(runtime, host)
    if let certificates {
      for name in settings.addresses?.keys.sorted() ?? [] { try made.trust(certificates, for: name) }
    }
    return made
  }
}

/// A resolver for the addresses in the settings.
struct KnownAddresses: Resolver {
  private let addresses: [String: IPAddress]

  /// - Throws: `Refusal` if an address is invalid.
  init(_ texts: [String: String]) throws {
    addresses = try texts.mapValues { text in
      guard let address = IPAddress(text) else { throw Refusal("\(text) is not an address") }
      return address
    }
  }

  func resolve(_ host: String) -> Resolution? { addresses[host].map { Resolution([$0], from: .service) } }
  func connected(to address: IPAddress, of host: String, after milliseconds: Int) {}
  func failed(_ address: IPAddress, of host: String) {}
}
