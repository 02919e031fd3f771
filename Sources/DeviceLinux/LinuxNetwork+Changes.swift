import System
import XCacheClient
import XCacheRuntime

extension LinuxNetwork {
  /// What using the network costs: now, and each time that it becomes something else. It is looked at every `interval`, on a
  /// thread of the stream's own, which ends when nobody listens any more.
  public func changes(every interval: Duration = .seconds(5)) -> AsyncStream<Conditions.Network> {
    watch(every: interval) { look() }
  }

  /// What using the network costs, and which it is.
  struct Observation: Equatable, Sendable {
    let network: Conditions.Network
    let routes: [String]
  }

  func observations(every interval: Duration) -> AsyncStream<Observation> {
    watch(every: interval) { Observation(network: look(), routes: defaultRoutes) }
  }

  private func watch<Value: Equatable & Sendable>(
    every interval: Duration, _ look: @escaping @Sendable () -> Value
  ) -> AsyncStream<Value> {
    // Only what holds now counts.
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
    // The system has no thread left; then one look has to do.
    if thread == nil { continuation.finish() }
    return stream
  }
}

extension Runtime {
  /// Tells the runtime what the network costs, now and at each change: `conditions.network` is `network`'s from here on, the
  /// rest of the conditions the app's. Where the way out of it is another one, it is told `networkChanged`. Comes back when the calling task is cancelled, or the runtime is closed.
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
          // Where its cost is another one too, the runtime knows.
          if let last, last.network == now.network, now.network != .offline { self.networkChanged() }
          last = now
        }
      }
      // They end with the runtime.
      group.addTask { for await _ in events {} }
      await group.next()
      group.cancelAll()
    }
  }
}
