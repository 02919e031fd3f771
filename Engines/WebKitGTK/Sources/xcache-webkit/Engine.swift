import DeviceLinux
import Foundation
import HTTPDNS
import XCacheClient
import XCacheRuntime
import XCacheWebKit

/// What all pages of a run share: the runtime over the device's folder, and the ways out.
final class Engine: Sendable {
  let settings: Settings
  let runtime: Runtime
  let memory: MemoryWatch
  private let transport: LookTransport
  private let network: LookNetwork
  /// Where what isn't https goes, which neither the device nor the app's proxy answers; nil: as it would without us.
  private let deadEnd: UInt16?
  /// PEM, with `addresses`.
  private let certificates: String?

  /// - Throws: `Refusal`, where the folder can't be used; else what the runtime says.
  init(_ settings: Settings, folder: String) async throws {
    self.settings = settings
    let isOffline = settings.offline ?? false
    let isConfined = settings.confined ?? false
    let line = settings.network.map { Line($0) }
    let resolver = try settings.addresses.map { try KnownAddresses($0) }
    var device = DeviceSettings(
      folder: settings.local ?? true ? settings.folder : folder + "/empty", server: settings.server,
      app: settings.app, hosts: settings.hosts, channel: settings.channel ?? "online")
    // All of the release is to be seen: nothing makes way.
    device.diskLimit = 1 << 40
    // What the runtime noted of pages that failed and of starts that ended early: it would leave them to the network.
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
    // No polls, no reports: nobody counts this as a device.
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

  /// Of the manifest that is held.
  var version: String { runtime.version }

  /// An engine for one page, which leaves nothing for the next: its own cookies, storage and caches, and a proxy of its own, which
  /// tells whose request it is.
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

/// Addresses that the settings name.
struct KnownAddresses: Resolver {
  private let addresses: [String: IPAddress]

  /// - Throws: `Refusal`, where one is none.
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
