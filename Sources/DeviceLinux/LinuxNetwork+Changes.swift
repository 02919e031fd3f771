import System
import XCacheClient
import XCacheRuntime

extension LinuxNetwork {
  /// What using the network costs: now, and each time that it becomes something else. It is looked at every `interval`, on a
  /// thread of the stream's own, which ends when nobody listens any more.
  public func changes(every interval: Duration = .seconds(5)) -> AsyncStream<Conditions.Network> {
    // Only what holds now counts.
    let (stream, continuation) = AsyncStream.makeStream(
      of: Conditions.Network.self, bufferingPolicy: .bufferingNewest(1))
    let isOver = Monitor(false)
    continuation.onTermination = { _ in isOver.broadcasting { $0 = true } }
    let thread = try? OSThread(name: "network") { [self] in
      var last: Conditions.Network?
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
  /// rest of the conditions the app's. Comes back when the calling task is cancelled, or the runtime is closed.
  public func followNetwork(
    _ network: LinuxNetwork = LinuxNetwork(), every interval: Duration = .seconds(5)
  ) async {
    let events = events
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await now in network.changes(every: interval) {
          if Task.isCancelled { return }
          self.changeConditions { $0.network = now }
        }
      }
      // They end with the runtime.
      group.addTask { for await _ in events {} }
      await group.next()
      group.cancelAll()
    }
  }
}
