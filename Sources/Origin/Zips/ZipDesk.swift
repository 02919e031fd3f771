import Dispatch
import Manifests
import Platform
import Store

/// Makes zips of channels' files, one after another beside the worker pool, and each once.
final class ZipDesk: Sendable {
  private let store: Store
  private let deltas: ZipDeltas.Source
  /// Bytes that all zips may take.
  private let limit: Int64
  private let log: @Sendable (String) -> Void
  private let queue = DispatchQueue(label: "xcache.zips", qos: .utility)
  private let state = Locked(State())

  private struct State {
    var builds: [Job: Build] = [:]
    var waiters = 0
  }

  private struct Job: Hashable {
    let channel: Int64
    let zip: BundleZip
  }

  /// A zip that is being made.
  private final class Build: Sendable {
    let end = DispatchGroup()
    let failure = Locked<StoreError?>(nil)
  }

  /// Requests that may wait for a zip on the worker pool at a time, and for how long: it has other work, too.
  private static let patience = (waiters: 2, seconds: 8)

  init(
    store: Store, deltas: @escaping ZipDeltas.Source, limit: Int64, log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.deltas = deltas
    self.limit = limit
    self.log = log
    queue.async { [store] in try? store.sweepZips() }
  }

  enum Outcome: ~Copyable {
    case ready(StoredZip)
    /// It is being made, or waits for its deltas.
    case notYet
    /// There is no room for more.
    case noRoom
  }

  /// A zip, made now where there is none; waits a while for it.
  /// - Throws: `unknownVersion` where a manifest isn't kept, or what kept the zip from being made.
  func zip(_ zip: BundleZip, of channel: ChannelInfo) throws(StoreError) -> Outcome {
    if let stored = try store.zip(zip, of: channel) { return .ready(stored) }
    var list: [ZipDelta] = []
    if case .update(let from, let to) = zip {
      guard case .done(let made) = try deltas(channel, from, to) else { return .notYet }
      list = made
    }
    guard try store.trimZips(to: limit) else { return .noRoom }
    let build = build(zip, of: channel, list)
    guard waits(for: build) else { return .notYet }
    if let failure = build.failure.withLock({ $0 }) { throw failure }
    guard let stored = try store.zip(zip, of: channel) else { return .notYet }
    return .ready(stored)
  }

  private func build(_ zip: BundleZip, of channel: ChannelInfo, _ deltas: [ZipDelta]) -> Build {
    let job = Job(channel: channel.id, zip: zip)
    let (build, isNew) = state.withLock { state in
      if let build = state.builds[job] { return (build, false) }
      let build = Build()
      build.end.enter()
      state.builds[job] = build
      return (build, true)
    }
    if isNew { queue.async { self.make(job, channel, deltas, build) } }
    return build
  }

  private func make(_ job: Job, _ channel: ChannelInfo, _ deltas: [ZipDelta], _ build: Build) {
    do throws(StoreError) {
      // Another request may have had it made between this one's look and its turn.
      if try store.zip(job.zip, of: channel) == nil {
        try store.makeZip(job.zip, of: channel, deltas: deltas, threads: Environment.cores)
        _ = try store.trimZips(to: limit)
      }
    } catch {
      log("error: \(channel.app)/\(job.zip): \(error)")
      build.failure.withLock { $0 = error }
    }
    state.withLock { $0.builds[job] = nil }
    build.end.leave()
  }

  private func waits(for build: Build) -> Bool {
    let mayWait = state.withLock { state in
      guard state.waiters < Self.patience.waiters else { return false }
      state.waiters += 1
      return true
    }
    guard mayWait else { return false }
    defer { state.withLock { $0.waiters -= 1 } }
    return build.end.wait(timeout: .now() + .seconds(Self.patience.seconds)) == .success
  }
}
