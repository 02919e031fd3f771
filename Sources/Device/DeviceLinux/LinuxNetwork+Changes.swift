import System
import XCacheDevice
import XCacheRuntime

extension LinuxNetwork {
  /// Returns a stream of what using the network costs: the current value, and each change. It is checked every `interval`,
  /// on a separate thread that ends when nobody listens any more.
  public func changes(every interval: Duration = .seconds(5)) -> AsyncStream<Conditions.Network> {
    watch(every: interval) { look() }
  }

  /// What using the network costs, and which network it is.
  struct Observation: Equatable, Sendable {
    let network: Conditions.Network
    let routes: [String]
  }

  func observations(every interval: Duration) -> AsyncStream<Observation> {
    watch(every: interval) { Observation(network: look(), routes: usedRoutes) }
  }

  private func watch<Value: Equatable & Sendable>(
    every interval: Duration, _ look: @escaping @Sendable () -> Value
  ) -> AsyncStream<Value> {
    // Only the latest value counts.
    let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let isOver = Monitor(false)
    continuation.onTermination = { _ in isOver.broadcasting { $0 = true } }
    let thread = try? OSThread(name: "network") {
      var last: Value?
      while !isOver.withLock({ $0 }) {
        let now = look()
        if now != last { continuation.yield(now) }
        last = now
        _ = isOver.waiting(for: interval) { $0 ? () : nil }
      }
    }
    // The system has no thread left, so the stream ends without a value.
    if thread == nil { continuation.finish() }
    return stream
  }
}

extension Runtime {
  /// Keeps the runtime informed of what the network costs: from now on `conditions.network` follows `network`, while the
  /// rest of the conditions stay the app's. If the default route changes, it calls `networkChanged`. Returns when the
  /// calling task is cancelled or the runtime is closed.
  public func followNetwork(
    _ network: LinuxNetwork = LinuxNetwork(), every interval: Duration = .seconds(5)
  ) async {
    let events = events
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var last: LinuxNetwork.Observation?
        for await now in network.observations(every: interval) {
          if Task.isCancelled { return }
          self.changeConditions { $0.network = now.network }
          // If the cost changed too, the runtime already knows.
          if let last, last.network == now.network, now.network != .offline { self.networkChanged() }
          last = now
        }
      }
      // The events end with the runtime.
      group.addTask { for await _ in events {} }
      await group.next()
      group.cancelAll()
    }
  }
}
