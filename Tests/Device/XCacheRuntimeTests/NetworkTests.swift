import DeviceLinux
import DeviceTestSupport
import HTTPDNS
import SocketServer
import System
import Testing
import TestSupport

@testable import XCacheDevice
@testable import XCacheRuntime

/// A runtime that follows changes of the network.
@Suite(.unhurried) struct FollowNetworkTests {
  private static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
  private static let route = "eth0\t00000000\t0100007F\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"

  @Test(.timeLimit(.minutes(2))) func followsTheNetworkUntilItIsClosed() async throws {
    let bench = try RuntimeBench()
    let runtime = try await bench.runtime()
    let folder = bench.bench.scratch.path
    runtime.conditions.savesData = true
    let following = Task {
      await runtime.followNetwork(LinuxNetwork(routes: folder, bus: "/nowhere"), every: .milliseconds(5))
    }
    func becomes(_ network: Conditions.Network) async throws {
      while runtime.conditions.network != network { try await Task.sleep(for: .milliseconds(1)) }
    }
    try await becomes(.offline)
    try DurableFile.write(bytes(Self.head + Self.route), to: "\(folder)/route")
    try await becomes(.unmetered)
    // The app's other conditions stay.
    #expect(runtime.conditions.savesData)
    await runtime.close()
    await following.value
  }

  /// Another default route is another network, also if it costs the same.
  @Test(.timeLimit(.minutes(2))) func otherRoutesAreNetworkChanges() async throws {
    let bench = try RuntimeBench()
    let service = CountingService()
    let names = try HTTPDNSResolver(
      HTTPDNSSettings(.vendor(url: "https://192.0.2.9/1", list: "ss")), exchange: service)
    let transport = FakePageTransport()
    let runtime = try await bench.runtime {
      $0.names = names
      $0.fetcher = PageFetcher(transport, cookies: FakeCookies([]))
    }
    let folder = bench.bench.scratch.path
    func write(_ gateway: String) throws {
      let route = Self.route.replacing("0100007F", with: gateway)
      try DurableFile.write(bytes(Self.head + route), to: "\(folder)/route")
    }
    let following = Task {
      await runtime.followNetwork(LinuxNetwork(routes: folder, bus: "/nowhere"), every: .milliseconds(5))
    }
    while runtime.conditions.network != .offline { try await Task.sleep(for: .milliseconds(1)) }
    #expect(transport.networks == 0)
    try write("0100007F")
    while transport.networks < 1 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(runtime.conditions.network == .unmetered)
    for count in 1...3 {
      try write("020000\(count)F")
      while transport.networks < 1 + count { try await Task.sleep(for: .milliseconds(1)) }
    }
    while service.lists < 3 { try await Task.sleep(for: .milliseconds(1)) }
    // Another cost is another network, too; going offline isn't.
    runtime.conditions.network = .metered
    runtime.conditions.network = .offline
    #expect(transport.networks == 5)
    await runtime.close()
    await following.value
  }

  @Test(.timeLimit(.minutes(2))) func cancellationEndsFollowing() async throws {
    let runtime = try await RuntimeBench().runtime()
    let following = Task {
      await runtime.followNetwork(LinuxNetwork(routes: "/nowhere", bus: "/nowhere"), every: .seconds(3600))
    }
    while runtime.conditions.network != .offline { try await Task.sleep(for: .milliseconds(1)) }
    following.cancel()
    await following.value
    runtime.conditions.network = .metered
    #expect(runtime.conditions.network == .metered)
  }
}

/// A name service that counts requests for its list of addresses.
private final class CountingService: ServiceExchange {
  private let count = Locked(0)

  var lists: Int { count.withLock { $0 } }

  func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8] {
    if request.url.hasSuffix("/ss") { count.withLock { $0 += 1 } }
    throw .timedOut
  }
}

/// Servers that don't answer.
@Suite(.unhurried) struct HungServerTests {
  /// `close` ends within about a second; the transport alone would wait for three minutes.
  @Test(.timeLimit(.minutes(2)), arguments: [false, true]) func closingDoesNotWait(hasUpdate: Bool)
    async throws
  {
    let bench = try RuntimeBench()
    if !hasUpdate {
      let first = try await bench.runtime()
      await first.handle(.launch)
      for name in try Folder.textNames("\(bench.folder)/files") {
        try Kernel.remove("\(bench.folder)/files/\(name)")
      }
      await first.close()
    }
    let (asked, barrier) = (Monitor(false), Barrier())
    let server = SocketServer { _ in
      asked.broadcasting { $0 = true }
      barrier.wait()
      return [.close]
    }
    defer { barrier.open() }
    var device = bench.bench.settings()
    device.hosts = ["m.test"]
    device.retryPauses = [60_000]
    let transport = OneServer(inner: CurlTransport(stallSeconds: 180), url: server.url)
    let runtime = try await Runtime(RuntimeSettings(device), transport: transport)
    let task = Task { () -> Bool in
      if hasUpdate { return await runtime.handle(.launch) == nil }
      if case .network = await runtime.answer(PageRequest(RuntimeBench.script)) { return true }
      return false
    }
    while !asked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    await runtime.close()
    // `close` has a timeout; waiting requests must end by themselves.
    #expect(await task.value)
    #expect(try await bench.runtime().fault == nil)
  }
}

/// Sends every request to one server.
private struct OneServer: Transport {
  let inner: CurlTransport
  let url: String

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var asked = TransportRequest("\(url)/x", limit: request.limit)
    asked.isCancelled = request.isCancelled
    return try inner.get(asked, receive: receive)
  }
}
