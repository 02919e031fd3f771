import Manifests
import Store
import System

/// Makes the deltas on older versions, the newest base first, channel by channel, version by version.
///
/// What is done is remembered in `derived.db`; after a restart the rest follows.
struct BacklogWorker: Sendable {
  private let thread = BackgroundThread()
  let store: Store
  let catalog: Published<Catalog>
  let builder: AnswerBuilder
  let desk: DeltaDesk
  let log: @Sendable (String) -> Void

  /// Works from now on until the desk is stopped.
  func start() throws(SystemError) { try thread.start("deltas") { run() } }

  private func run() {
    desk.backlog.begin()
    for channel in catalog.current.channels { desk.backlog.add(channel.channel.id, at: channel.version) }
    while let id = desk.backlog.next() {
      guard let channel = catalog.current.channel(id: id)?.channel else { continue }
      do throws(StoreError) {
        if try advance(channel) { desk.backlog.again(id) }
      } catch {
        log("error: deltas of \(channel.app) \(channel.name) are left until the next release: \(error)")
        desk.backlog.update(id, at: channel.version) { $0.pending = 0 }
      }
    }
  }

  /// Does the newest base that is left; true where more are.
  private func advance(_ channel: ChannelInfo) throws(StoreError) -> Bool {
    guard desk.awaitPreparations() else { return false }
    var left: [ManifestVersion] = []
    for base in try desk.backlogBases(of: channel).sorted(by: >)
    where try !store.derived.isDone(channel.id, from: base, to: channel.version) { left.append(base) }
    desk.backlog.update(channel.id, at: channel.version) { $0.pending = left.count }
    guard let base = left.first, !desk.isStopping else { return false }
    let made = try makeDeltas(channel, on: base)
    if made.count > 0 { try builder.refreshPatches(of: channel.id) }
    guard made.isComplete else { return !desk.isStopping }
    try store.derived.markDone(channel.id, from: base, to: channel.version)
    desk.backlog.update(channel.id, at: channel.version) { $0.pending = left.count - 1 }
    return left.count > 1 || catalog.current.channel(id: channel.id)?.version != channel.version
  }

  private func makeDeltas(_ channel: ChannelInfo, on base: ManifestVersion) throws(StoreError)
    -> (count: Int, isComplete: Bool)
  {
    let changes = try store.diff(channel, from: base, to: channel.version)
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    guard !new.isEmpty else { return (0, true) }
    let older = try store.contents(channel, at: base)
    let (id, version) = (channel.id, channel.version)
    let result = try desk.search(threads: desk.options.threads, isUrgent: false).run(
      new, on: older,
      // A newer release makes this one's deltas old before anyone has seen them.
      goesOn: { [desk, catalog] in
        desk.awaitPreparations() && catalog.current.channel(id: id)?.version == version
      },
      progress: { [desk] done, all in
        desk.backlog.update(id, at: version) { progress in
          progress.filesDone = done
          progress.files = all
        }
      })
    return (result.made, result.isComplete)
  }
}
