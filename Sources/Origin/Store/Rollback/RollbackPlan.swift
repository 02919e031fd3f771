import Manifests
import System
import Values

/// A rollback planned against one state of the database, before anything is written.
struct RollbackPlan {
  struct Bundle {
    let info: BundleInfo
    let counts: ChangeCounts
    /// The change of its size.
    let bytes: Int64
    let takenBack: [ReleaseStamp]
  }

  let channel: ChannelInfo
  private(set) var freeze: ChannelFreeze?
  let target: ManifestVersion
  /// The bundles that change, sorted by name.
  private(set) var bundles: [Bundle] = []
  /// The changes to the channel's manifest, sorted by URL.
  private(set) var changes: [EntryChange] = []
  private(set) var counts = ChangeCounts()
  private(set) var newBytes: Int64 = 0
  private(set) var resources: Int
  private(set) var bytes: Int64

  var isChange: Bool { !bundles.isEmpty }

  /// - Throws: `unknownBundle`, `unknownVersion`, `tooManySteps`, `changedSince`, `frozen`, `urlConflicts`,
  ///   `duplicateURLs`, `missingBlobs`, `nothingLeft`, `foreignHosts`.
  init(_ request: RollbackInput, now: Int64, in db: Database) throws(StoreError) {
    let channel = try db.namingBundles(try db.required(request.app, request.channel))
    self.channel = channel
    var scope: [BundleInfo]
    if let name = request.bundle {
      guard let info = try db.bundle(name, of: channel.id) else { throw .unknownBundle(name) }
      scope = [info]
    } else {
      scope = try db.bundles(of: channel.id)
    }
    let target = try Self.target(request, scope, channel, in: db)
    self.target = target
    try Self.checkLimit(request, scope, channel, in: db)
    scope.removeAll { $0.version <= target }
    (resources, bytes) = (channel.resources, channel.bytes)
    let isAlone = try Self.holdsAll(scope, of: channel, in: db)
    if isAlone {
      // Then the bundle's rows are the manifest's, and reading them once is enough for both.
      try readChanges(of: scope, in: db)
      if !counts.isEmpty { bundles = [try bundle(scope[0], counts, bytes - channel.bytes, in: db)] }
    } else {
      for info in scope {
        let (counts, bytes) = try db.growth(rollingBack: info, to: target)
        if !counts.isEmpty { bundles.append(try bundle(info, counts, bytes, in: db)) }
      }
    }
    freeze = bundles.isEmpty ? nil : try db.freeze(of: channel.id, at: now)
    // A dry run reports the freeze in its outcome.
    if let freeze, request.breakGlass == nil, !request.dryRun {
      throw .frozen(channel.app, channel.name, freeze)
    }
    if request.bundle != nil, !isAlone, let bundle = bundles.first {
      try Self.check(bundle.info, target, in: db)
    }
    if channel.bundlesSince != nil, isChange { try checkShared(request, in: db) }
    try checkRest(request, in: db)
    try checkBytes(in: db)
    if !isAlone { try readChanges(of: bundles.map(\.info), in: db) }
    try checkHosts(request)
  }

  /// A rollback doesn't bring back URLs on hosts that a list excludes now: they may be why there is a list.
  private func checkHosts(_ request: RollbackInput) throws(StoreError) {
    var bounds = HostBounds(channel, token: request.actor.name, request.hosts)
    for change in changes where change.entry != nil { bounds.note(change.url) }
    try bounds.check()
  }

  /// Whether this is one bundle, and no other one of the channel holds anything.
  private static func holdsAll(_ scope: [BundleInfo], of channel: ChannelInfo, in db: Database)
    throws(StoreError) -> Bool
  {
    guard scope.count == 1, let bundle = scope.first else { return false }
    return try db.bundles(of: channel.id).allSatisfy { $0.id == bundle.id || $0.resources == 0 }
  }

  private static func target(
    _ request: RollbackInput, _ scope: [BundleInfo], _ channel: ChannelInfo, in db: Database
  ) throws(StoreError) -> ManifestVersion {
    switch request.target {
    case .version(let name):
      let version = try db.version(name, of: channel)
      if version == .none { throw .unknownVersion(version) }
      try db.requireKept(version, in: channel.id)
      return version
    case .steps(let steps):
      do throws(StoreError) {
        guard request.bundle != nil, let bundle = scope.first else {
          return try db.stepsBack(steps, in: channel)
        }
        return try db.stepsBack(steps, of: bundle, in: channel)
      } catch .tooManySteps(let steps, let kept, _) {
        if kept == 0, let candidate = channel.rollout?.candidate {
          throw .haltInstead(channel.app, channel.name, candidate, steps: steps)
        }
        let live = scope.filter { $0.resources > 0 }
        throw .tooManySteps(steps, kept: kept, of: live.count == 1 ? live[0].name : nil)
      }
    }
  }

  private static func checkLimit(
    _ request: RollbackInput, _ scope: [BundleInfo], _ channel: ChannelInfo, in db: Database
  ) throws(StoreError) {
    guard let limit = request.ifVersion else { return }
    for bundle in scope {
      guard let changed = try db.change(of: bundle, after: limit, in: channel) else { continue }
      let stamp = try db.stamp(of: changed, in: channel.id)
      throw .changedSince(
        bundle.name, limit: limit,
        release: stamp ?? ReleaseStamp(version: changed, author: "", at: Moment(milliseconds: 0)))
    }
  }

  private func bundle(_ info: BundleInfo, _ counts: ChangeCounts, _ bytes: Int64, in db: Database)
    throws(StoreError) -> Bundle
  {
    Bundle(info: info, counts: counts, bytes: bytes, takenBack: try db.stamps(of: info, after: target))
  }

  /// A number of steps never leads to a state in which nothing was published, of the bundle or of the channel: nobody who names no
  /// version means that.
  private func checkRest(_ request: RollbackInput, in db: Database) throws(StoreError) {
    guard case .steps = request.target, isChange else { return }
    let scope = try db.bundles(of: channel.id).filter { request.bundle == nil || $0.name == request.bundle }
    let left =
      scope.reduce(0) { $0 + $1.resources } + bundles.reduce(0) { $0 + $1.counts.added - $1.counts.removed }
    if left <= 0 { throw .nothingLeft(target, request.bundle) }
  }

  /// One bundle's earlier state can contradict other bundles only if those aren't rolled back, too.
  private static func check(_ bundle: BundleInfo, _ target: ManifestVersion, in db: Database)
    throws(StoreError)
  {
    let conflicts = try db.conflicts(rollingBack: bundle, to: target)
    guard conflicts.isEmpty else { throw .urlConflicts(conflicts) }
    let duplicates = try db.duplicates(rollingBack: bundle, to: target)
    guard duplicates.isEmpty else { throw .duplicateURLs(duplicates) }
  }

  /// Where entries name their bundle, a URL belongs to one: also if it comes back.
  private func checkShared(_ request: RollbackInput, in db: Database) throws(StoreError) {
    var shared: [SharedURL] = []
    if request.bundle != nil {
      for bundle in bundles { shared += try db.shared(rollingBack: bundle.info, to: target, in: channel) }
    } else if !channel.namesBundles(at: target) {
      shared = try db.sharedURLs(of: channel, at: target)
    }
    guard shared.isEmpty else { throw .sharedURLs(channel.app, shared) }
  }

  /// "A manifest never names bytes that aren't stored." Nor those that are being purged: a purge may have been cut off.
  private func checkBytes(in db: Database) throws(StoreError) {
    var purged: [Purge] = []
    for bundle in bundles { purged += try db.purged(rollingBack: bundle.info, to: target) }
    guard purged.isEmpty else { throw .purged(purged) }
    var damaged: [SHA256] = []
    for bundle in bundles { damaged += try db.damaged(rollingBack: bundle.info, to: target) }
    guard damaged.isEmpty else { throw .missingBlobs(damaged) }
  }

  private mutating func readChanges(of bundles: [BundleInfo], in db: Database) throws(StoreError) {
    guard let first = bundles.first else { return }
    var changes: [EntryChange] = []
    var (counts, newBytes, resources, bytes) = (counts, newBytes, resources, bytes)
    let channel = channel
    let names = channel.bundlesSince != nil
    let isOne = bundles.count == 1
    let note = { (url: ResourceURL, row: DifferenceRow) throws(StoreError) -> Void in
      let now = try row.now()
      let was = try row.was()
      // What was only moved to another public URL stays where it is now.
      if now?.version == was?.version, now?.bundle == was?.bundle { return }
      changes.append(
        EntryChange(
          url: url,
          entry: now.map {
            channel.entry(
              url, $0.content, $0.version, broughtIn: $0.broughtIn, channel.publicURL,
              bundle: names ? isOne ? first.name : $0.bundle : nil)
          },
          old: was?.content))
      counts.count(hadEntry: row.hadEntry, hasEntry: now != nil)
      newBytes = newBytes.addingClamped(now?.content.newBytes(since: was?.content) ?? 0)
      resources += (now == nil ? 0 : 1) - (row.hadEntry ? 1 : 0)
      bytes = bytes.addingClamped((now?.content.size ?? 0) - row.sizeBefore)
    }
    if bundles.count > 1 {
      try db.eachDifference(of: channel, from: channel.version, to: target, names: names, note)
    } else {
      try db.eachDifference(rollingBack: first, to: target, note)
    }
    self.changes = changes
    (self.counts, self.newBytes, self.resources, self.bytes) = (counts, newBytes, resources, bytes)
  }
}
