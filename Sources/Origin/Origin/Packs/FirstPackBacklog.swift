import Manifests
import Store
import System

/// Makes the first packs of all channels, one after the other, on a thread of its own: one may take minutes, and neither the deltas
/// and packs of other channels nor those of a later release wait for it.
struct FirstPackBacklog: Sendable {
  private let thread = BackgroundThread()
  let worker: FirstPackWorker
  let service: DeltaService
  let log: @Sendable (String) -> Void

  /// Runs until the service is stopped.
  func start() throws(SystemError) { try thread.start("first-packs") { run() } }

  /// What the worker knows besides `derived.db`.
  private struct State {
    /// Each as a base of 0.
    var later = PostponedBases()
    var logged = LoggedFaults()
  }

  private func run() {
    var work = State()
    while true {
      switch service.backlog.nextFirst(within: .seconds(min(work.later.pause, Self.maxPause))) {
      case .end: return
      case .pause: break
      case .channel(let id):
        // The full version first: a candidate may name its pack.
        for channel in worker.catalog.current.channel(id: id)?.answered.map(\.channel) ?? [] {
          advance(channel, &work)
        }
      }
      for id in work.later.removeDue(hasSpace) { service.backlog.addFirst(id) }
    }
  }

  /// In seconds.
  private static let maxPause = 60.0

  private func hasSpace(for size: Int64) -> Bool {
    (try? worker.store.hasPackSpace(service.packs.limits.quota, for: size)) ?? false
  }

  /// Makes and pushes a version's first pack, as far as that is to do now.
  private func advance(_ channel: ChannelInfo, _ work: inout State) {
    guard !service.isStopping, !work.later.holds(channel, .none) else { return }
    do throws(StoreError) {
      try worker.choose(channel)
      let outcome = try worker.work(channel) {
        service.awaitPreparations() && worker.catalog.current.answers(channel.id, with: channel.version)
      }
      switch outcome {
      case .done:
        work.later.pushed(channel)
        work.later.succeeded(channel, .none)
      // After what devices of the older versions wait for.
      case .stopped: service.backlog.requeue(channel.id)
      case .noSpace(let size): work.later.note(channel, .none, .space(size))
      case .isUnpushed(let line):
        work.later.note(channel, .none, .push(line))
        logOnce(line, channel, &work)
      }
    } catch {
      work.later.note(channel, .none, .error(error.description))
      logOnce(
        "error: the first pack of \(channel.app) \(channel.name) \(channel.version) could not be made; it is tried "
          + "again: \(error)", channel, &work)
    }
    service.backlog.noteFirst(
      channel.id, at: channel.version, fault: work.later.faults(of: channel).newest)
    let isLeft = worker.hasWork(channel) && !work.later.holds(channel, .none)
    service.backlog.update(channel.id, at: channel.version) { $0.makesFirstPack = isLeft ? true : nil }
  }

  private func logOnce(_ line: String, _ channel: ChannelInfo, _ work: inout State) {
    if work.logged.note(line, of: channel) { log(line) }
  }
}
