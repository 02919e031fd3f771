import Manifests
import Store
import System

/// Renders what a channel's devices will ask for, right after a release and at startup: the whole manifest, and the patches
/// from the versions that the fleet runs. Its threads have low priority, so that no release waits for it.
final class AnswerRenderer: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  private let builder: AnswerBuilder
  private let service: DeltaService
  private let log: @Sendable (String) -> Void
  /// Channel ids.
  private let queue = WorkQueue<Int64>()
  private let threads = (0..<min(2, Environment.cores)).map { _ in BackgroundThread() }

  init(
    store: Store, catalog: Published<Catalog>, builder: AnswerBuilder, service: DeltaService,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.catalog = catalog
    self.builder = builder
    self.service = service
    self.log = log
  }

  /// Adds a channel whose answers have changed.
  func add(_ channel: Int64) { queue.addOnce(channel) }

  /// Starts the threads, which run until they are stopped.
  func start() throws(SystemError) {
    for (number, thread) in threads.enumerated() {
      try thread.start("render-\(number)") { [self] in
        if number == 0 { addPolled() }
        while let id = queue.next() {
          builder.yieldToRequests { !queue.isStopped }
          render(id)
        }
      }
    }
  }

  /// Adds the channels that were polled in the last day; the others wait until somebody polls them.
  private func addPolled() {
    do throws(StoreError) {
      for id in try store.polledChannels(hours: 24) { add(id) }
    } catch {
      log("error: can't read which channels are polled: \(error)")
    }
  }

  func beginStopping() { queue.stop() }

  /// Renders a channel's answers, until a newer release, which has its own turn.
  func render(_ id: Int64) {
    guard let channel = catalog.current.channel(id: id), channel.version != .none else { return }
    do throws(StoreError) {
      // With a candidate, devices of either version are among those of older ones.
      let bases = try service.backlogBases(of: channel.newest.channel)
      builder.patches.update { $0.pin(bases, of: id) }
    } catch {
      log("error: can't read which versions the devices of \(channel.channel.app) have: \(error)")
    }
    for state in channel.answered { render(state) }
  }

  private func render(_ channel: ChannelCatalog) {
    do throws(StoreError) {
      _ = try builder.whole(of: channel)
    } catch {
      log("error: the manifest of \(channel.channel.app) \(channel.channel.name) can't be read: \(error)")
      return
    }
    for base in builder.patches.current.pins(of: channel.channel.id) where base < channel.version {
      guard !queue.isStopped, let now = catalog.current.successor(of: channel), now.answers(as: channel)
      else { return }
      builder.yieldToRequests { !queue.isStopped }
      builder.preparePatch(to: now, from: base)
    }
  }
}
