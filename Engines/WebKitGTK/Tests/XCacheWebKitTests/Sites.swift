import DeviceLinux
import Foundation
import WebKitTestSupport
import XCacheDevice

@testable import XCacheRuntime
@testable import XCacheWebKit

/// Runs `site.py`: TLS sites, and a real origin.
final class Sites: @unchecked Sendable {  // Its pipes are used under `lock`.
  struct Told: Decodable {
    let port: Int
    let server: String
    let authorities: String
    let certificate: String
  }

  struct Failed: Error { let what: String }

  let told: Told
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let folder: URL
  private let lock = NSLock()

  static let hosts = ["m.example.com", "cdn.example.com", "www.m.example.com"]

  init() throws {
    guard let xcache = ProcessInfo.processInfo.environment["XCACHE_BINARY"] else {
      throw Failed(what: "XCACHE_BINARY names no xcache: make test-webkit")
    }
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "webkit-sites-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Site/site.py")
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [script.path, folder.path, xcache]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    told = try JSONDecoder().decode(Told.self, from: Self.line(of: output))
  }

  // Closing standard input isn't enough: WebKit's processes inherit it.
  deinit { try? input.fileHandleForWriting.write(contentsOf: Data("quit\n".utf8)) }

  private static func line(of pipe: Pipe) throws -> Data {
    var line = Data()
    while let byte = try pipe.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
      if byte[0] == 10 { return line }
      line.append(byte)
    }
    throw Failed(what: "site.py ended: \(String(decoding: line, as: UTF8.self))")
  }

  /// Sends a command, and waits for its answer.
  @discardableResult
  func tell(_ command: String) throws -> String {
    lock.lock()
    defer { lock.unlock() }
    try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
    return String(decoding: try Self.line(of: output), as: UTF8.self)
  }

  /// Requests to the sites since the last call: `GET m.example.com/index.html`.
  func log() throws -> [String] { try JSONDecoder().decode([String].self, from: Data(tell("log").utf8)) }

  func url(_ path: String, _ host: String = "m.example.com") -> String {
    "https://\(host):\(told.port)\(path)"
  }
}

/// An app: a runtime with the published files, and an engine. At the first start, the runtime has no files, and the
/// engine uses a cache on disk.
@WebActor
final class App {
  let runtime: Runtime
  let host: WebHost
  let network: LinuxProxyNetwork
  let sites: Sites
  let folder: URL

  /// Milliseconds since 1970.
  typealias Clock = @Sendable () -> Int64

  init(
    _ sites: Sites, hosts: [String] = Sites.hosts, scriptKey: [UInt8]? = nil, trustsSites: Bool = true,
    pageDeadline: Int64 = 10_000, diskLimit: Int64? = nil, isFirstStart: Bool = false, in place: URL? = nil,
    server: String? = nil, clock: Clock? = nil
  ) async throws {
    self.sites = sites
    folder =
      place
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("webkit-app-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var device = DeviceSettings(
      folder: folder.path + "/device", server: server ?? sites.told.server, app: "shop", hosts: hosts)
    device.scriptKey = scriptKey
    device.diskLimit = diskLimit
    var runtimeSettings = RuntimeSettings(device)
    runtimeSettings.pageDeadline = pageDeadline
    let transport = CurlTransport(resolver: LocalNames())
    if let clock {
      runtime = try await Runtime(runtimeSettings, transport: transport, clock: clock)
    } else {
      runtime = try await Runtime(runtimeSettings, transport: transport)
    }
    if !isFirstStart { await runtime.handle(.launch) }
    var settings = WebHostSettings()
    if isFirstStart { settings.folder = folder.path + "/web" }
    settings.transport = CurlPageTransport(
      connectSeconds: 3, resolver: LocalNames(), authorities: trustsSites ? sites.told.authorities : nil)
    network = LinuxProxyNetwork(
      authorities: trustsSites ? sites.told.authorities : nil, resolver: LocalNames())
    settings.network = network
    host = try WebHost(runtime, settings)
    // Tunneled connections get the sites' own certificate.
    try host.trust(sites.told.certificate, for: "foreign.test")
  }

  /// Polls until the policy has changed; devices poll at most every 30 seconds.
  func takePolicy() async throws {
    let events = runtime.events
    let polling = Task {
      while !Task.isCancelled {
        await runtime.handle(.push)
        try await Task.sleep(for: .milliseconds(500))
      }
    }
    for await event in events { if case .policyChanged = event { break } }
    polling.cancel()
  }

  /// Has the engine trust the sites' own certificates, for connections that are tunneled or bypass the proxy.
  func trustSites() throws {
    for name in Sites.hosts { try host.trust(sites.told.certificate, for: name) }
  }

  /// Closes the runtime and removes the folder.
  func end() async {
    await runtime.close()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Files of the cache.
  func files() throws -> [URL] {
    let all = FileManager.default.enumerator(
      at: folder.appendingPathComponent("device"), includingPropertiesForKeys: [.isRegularFileKey])
    return (all?.allObjects as? [URL] ?? []).filter {
      (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
    }
  }

  /// Waits up to 20 s until `condition` holds; returns whether it does.
  func until(_ condition: () async throws -> Bool) async rethrows -> Bool {
    for _ in 0..<1_000 {
      if try await condition() { return true }
      try? await Task.sleep(for: .milliseconds(20))
    }
    return false
  }
}

/// The outcome of an operation: `done`, its error's message, or `never` after a timeout, which cancels it.
@WebActor
func outcome(within seconds: Int, _ body: @escaping @WebActor () async throws -> Void) async -> String {
  var end: String?
  let task = Task { @WebActor in
    do {
      try await body()
      end = "done"
    } catch let error as WebKitError {
      end = error.message
    } catch { end = "\(error)" }
  }
  for _ in 0..<seconds * 100 where end == nil { try? await Task.sleep(for: .milliseconds(10)) }
  if end == nil { task.cancel() }
  return end ?? "never"
}
