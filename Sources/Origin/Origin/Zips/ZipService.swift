import Manifests
import Store
import System

/// Makes zips of channels' files, one at a time on a thread of its own, and each only once.
final class ZipService: Sendable {
  /// What the service needs to know about the rest of the origin and the disk.
  struct Options: Sendable {
    /// Returns the deltas of an update's zip.
    var deltas: ZipDeltas.Source
    /// Returns the older versions whose zips, and zips of updates from them, anybody may have.
    var bases: @Sendable (ChannelInfo) throws(StoreError) -> [ManifestVersion]
    /// The disk space for all zips.
    var quota = ZipQuota.standard
    /// Returns the space of the disk that they are on.
    var disk: @Sendable (String) throws(SystemError) -> DiskSpace = { (path) throws(SystemError) in
      try Kernel.space(path)
    }
    var log: @Sendable (String) -> Void = { _ in }
  }

  private let store: Store
  private let options: Options
  private let jobs = WorkQueue<@Sendable () -> Void>()
  private let thread = BackgroundThread()
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
    let outcome = Monitor<Result<Made, StoreError>?>(nil)
  }

  /// How the making of a zip ended.
  private enum Made: Sendable {
    case stored, deltasPending, noSpace
  }

  /// How many requests may wait for a zip on the worker pool, and for how many seconds: the pool has other work, too.
  private static let waitLimit = (waiters: 2, seconds: 8)

  init(store: Store, _ options: Options) throws(SystemError) {
    self.store = store
    self.options = options
    jobs.add { [store] in try? store.sweepZips() }
    // Somebody waits for it; the threads that compress run at a lower priority still.
    try thread.start("zips", .awaited) { [jobs] in
      while let job = jobs.next() { job() }
    }
  }

  deinit { jobs.stop() }

  enum Outcome: ~Copyable {
    case ready(StoredZip)
    /// It is being made, or waits for its deltas.
    case notYet
    /// It isn't among those made for anyone who asks.
    case notOffered
    /// It was removed to make space for others, and is never made again.
    case dropped
    /// There isn't enough space, even without older zips; for the newest version's zip, only the disk's space counts.
    case noSpace(isNewest: Bool)
  }

  /// Returns a zip, making it if there is none; waits a while for it. `isTrusted` means that the client may have the zips
  /// of every kept version.
  ///
  /// - Throws: `unknownVersion` if a manifest isn't kept, or the error that prevented making the zip.
  func zip(_ zip: BundleZip, of channel: ChannelInfo, isTrusted: Bool = false) throws(StoreError) -> Outcome {
    if let stored = try store.zip(zip, of: channel) { return .ready(stored) }
    guard try isOffered(zip, of: channel, isTrusted) else { return .notOffered }
    if zip.base != nil, try store.isDropped(zip, of: channel) { return .dropped }
    // The rest reads whole manifests. It is the job's work: a request that joins it, or can't wait, takes a worker's time from
    // nobody.
    guard let made = wait(for: build(zip, of: channel)) else { return .notYet }
    switch try made.get() {
    case .deltasPending: return .notYet
    case .noSpace: return .noSpace(isNewest: zip == .whole(channel.version))
    case .stored: break
    }
    guard let stored = try store.zip(zip, of: channel) else { return .notYet }
    return .ready(stored)
  }

  /// Whether a zip is made for this client. Updates lead to the newest version; of older versions, only those that devices
  /// may well have are used, as for deltas: otherwise anybody could fill the disk, pair by pair.
  private func isOffered(_ zip: BundleZip, of channel: ChannelInfo, _ isTrusted: Bool) throws(StoreError)
    -> Bool
  {
    if let base = zip.base,
      !channel.answeredVersions.contains(zip.version) || channel.crossesRebase(from: base, to: zip.version)
    {
      return false
    }
    let version = zip.base ?? zip.version
    if isTrusted || channel.answeredVersions.contains(version) { return true }
    return try options.bases(channel).contains(version)
  }

  private func makeRoom(for size: Int64, isNewest: Bool) throws(StoreError) -> Bool {
    let disk = try StoreError.disk { () throws(SystemError) in try options.disk(store.folder.path) }
    return try store.makeRoom(options.quota, on: disk, for: size, isNewest: isNewest)
  }

  private func build(_ zip: BundleZip, of channel: ChannelInfo) -> Build {
    let job = Job(channel: channel.id, zip: zip)
    let (build, isNew) = state.withLock { state in
      if let build = state.builds[job] { return (build, false) }
      let build = Build()
      state.builds[job] = build
      return (build, true)
    }
    if isNew {
      jobs.add { [self] in
        let made = Result { () throws(StoreError) in try make(zip, of: channel) }
        if case .failure(let error) = made { options.log("error: \(channel.app)/\(zip): \(error)") }
        state.withLock { $0.builds[job] = nil }
        build.outcome.broadcasting { $0 = made }
      }
    }
    return build
  }

  /// Makes a zip; on the service's thread.
  private func make(_ zip: BundleZip, of channel: ChannelInfo) throws(StoreError) -> Made {
    // It may have been made for another request before this one's turn came.
    if try store.zip(zip, of: channel) != nil { return .stored }
    var deltas: [ZipDelta] = []
    if let from = zip.base {
      guard case .done(let made) = try options.deltas(channel, from, zip.version) else {
        return .deltasPending
      }
      deltas = made
    }
    // There are as many updates as bases, and anybody may ask for them: they must fit within the limit.
    let size = try store.largestSize(of: zip, channel, deltas: deltas)
    guard try makeRoom(for: size, isNewest: zip == .whole(channel.version)) else { return .noSpace }
    try store.makeZip(zip, of: channel, deltas: deltas, threads: Environment.cores)
    _ = try makeRoom(for: 0, isNewest: true)
    return .stored
  }

  /// Waits for a zip; nil if too many are waiting already, or it takes too long.
  private func wait(for build: Build) -> Result<Made, StoreError>? {
    let mayWait = state.withLock { state in
      guard state.waiters < Self.waitLimit.waiters else { return false }
      state.waiters += 1
      return true
    }
    guard mayWait else { return nil }
    defer { state.withLock { $0.waiters -= 1 } }
    return build.outcome.waiting(for: .seconds(Self.waitLimit.seconds)) { $0 }
  }
}

/// The deltas that belong in an update's zip.
package enum ZipDeltas: Sendable {
  /// Some are still to be made: the zip waits for them, since it is never made again.
  case pending
  case done([ZipDelta])

  /// Returns the deltas for a channel, the update's base and its version; called on the service's thread.
  package typealias Source =
    @Sendable (ChannelInfo, _ from: ManifestVersion, _ to: ManifestVersion) throws(StoreError) -> ZipDeltas
}

/// Selects the deltas for an update's zip: those that are offered to devices, once all are made.
struct DeltaZipSource: Sendable {
  let store: Store
  let backlog: DeltaBacklog

  func deltas(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion) throws(StoreError)
    -> ZipDeltas
  {
    if try !store.derived.isDone(channel.id, from: from, to: to), backlog.isBusy(channel.id, at: to) {
      return .pending
    }
    return .done(try store.zipDeltas(channel, from: from, to: to))
  }
}
