import DeviceLinux
import SocketServer
import System
import Testing

@testable import XCacheClient
@testable import XCacheRuntime

/// A runtime that is told what the network costs.
@Suite struct FollowNetworkTests {
  private static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\n"
  private static let route = "eth0\t00000000\t0100007F\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"

  @Test(.timeLimit(.minutes(2))) func itFollowsUntilItIsClosed() async throws {
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
    // What else the app said stays.
    #expect(runtime.conditions.savesData)
    await runtime.close()
    await following.value
  }

  @Test(.timeLimit(.minutes(2))) func aTaskThatIsCancelledEndsIt() async throws {
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

/// Servers that say nothing.
@Suite struct HungServerTests {
  /// Ends within a second or so, where the transport alone would wait for three minutes.
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
    // `close` has some patience and then goes; who waits for an answer has to have it by itself.
    #expect(await task.value)
    #expect(try await bench.runtime().fault == nil)
  }
}

/// Sends every request to one server, which is as slow as it likes.
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
