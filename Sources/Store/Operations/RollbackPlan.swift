import Manifests
import Platform

/// A rollback worked out against one state of the database, before anything is written.
struct RollbackPlan {
  struct Bundle {
    let info: BundleInfo
    let counts: ChangeCounts
    /// By how much its size changes.
    let bytes: Int64
    let takenBack: [ReleaseStamp]
  }

  let channel: ChannelInfo
  let freeze: ChannelFreeze?
  let target: ManifestVersion
  /// The bundles that change, sorted by name.
  let bundles: [Bundle]
  /// What becomes of the channel's manifest, sorted by URL.
  private(set) var changes: [EntryChange] = []
  private(set) var counts = ChangeCounts()
  private(set) var newBytes: Int64 = 0
  private(set) var resources: Int
  private(set) var bytes: Int64

  var isChange: Bool { !bundles.isEmpty }

  /// - Throws: `unknownBundle`, `unknownVersion`, `tooManySteps`, `changedSince`, `frozen`, `urlConflicts`,
  ///   `duplicateURLs`, `missingBlobs`.
  init(_ request: RollbackRequest, in db: Database) throws(StoreError) {
    let channel = try db.required(request.app, request.channel)
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
    bundles = try Self.bundles(scope, target, in: db)
    (resources, bytes) = (channel.resources, channel.bytes)
    let freeze = bundles.isEmpty ? nil : try db.freeze(of: channel.id)
    self.freeze = freeze
    if let freeze, request.breakGlass == nil { throw .frozen(channel.app, channel.name, freeze) }
    if request.bundle != nil, let bundle = bundles.first { try Self.check(bundle.info, target, in: db) }
    try checkBytes(in: db)
    try readChanges(request, in: db)
  }

  private static func target(
    _ request: RollbackRequest, _ scope: [BundleInfo], _ channel: ChannelInfo, in db: Database
  ) throws(StoreError) -> ManifestVersion {
    switch request.target {
    case .version(let name):
      let version = try db.version(name, of: channel)
      guard version != .none, try db.isKept(version, in: channel.id) else { throw .unknownVersion(version) }
      return version
    case .steps(let steps):
      guard request.bundle != nil, let bundle = scope.first else {
        return try db.stepsBack(steps, in: channel)
      }
      return try db.stepsBack(steps, of: bundle, in: channel)
    }
  }

  private static func checkLimit(
    _ request: RollbackRequest, _ scope: [BundleInfo], _ channel: ChannelInfo, in db: Database
  ) throws(StoreError) {
    guard let limit = request.ifVersion else { return }
    for bundle in scope where bundle.version > limit {
      let stamp = try db.stamp(of: bundle.version, in: channel.id)
      throw .changedSince(
        bundle.name, limit: limit, release: stamp ?? ReleaseStamp(version: bundle.version, author: "", at: 0))
    }
  }

  private static func bundles(_ scope: [BundleInfo], _ target: ManifestVersion, in db: Database)
    throws(StoreError)
    -> [Bundle]
  {
    var bundles: [Bundle] = []
    for info in scope {
      let (counts, bytes) = try db.growth(takingBack: info, to: target)
      if counts.isEmpty { continue }
      bundles.append(
        Bundle(info: info, counts: counts, bytes: bytes, takenBack: try db.stamps(of: info, after: target)))
    }
    return bundles
  }

  /// Only where others stay as they are can one bundle's past contradict them.
  private static func check(_ bundle: BundleInfo, _ target: ManifestVersion, in db: Database)
    throws(StoreError)
  {
    let conflicts = try db.conflicts(takingBack: bundle, to: target)
    guard conflicts.isEmpty else { throw .urlConflicts(conflicts) }
    let duplicates = try db.duplicates(takingBack: bundle, to: target)
    guard duplicates.isEmpty else { throw .duplicateURLs(duplicates) }
  }

  /// "A manifest never names bytes that aren't stored."
  private func checkBytes(in db: Database) throws(StoreError) {
    var damaged: [SHA256] = []
    for bundle in bundles { damaged += try db.damaged(takingBack: bundle.info, to: target) }
    guard damaged.isEmpty else { throw .missingBlobs(damaged) }
  }

  private mutating func readChanges(_ request: RollbackRequest, in db: Database) throws(StoreError) {
    guard let first = bundles.first else { return }
    var changes: [EntryChange] = []
    var (counts, newBytes, resources, bytes) = (counts, newBytes, resources, bytes)
    let channel = channel
    let note = { (url: ResourceURL, row: DifferenceRow) throws(StoreError) -> Void in
      let now = try row.now()
      changes.append(EntryChange(url: url, entry: try now?.entry(url, in: channel)))
      counts.count(hadOne: row.hadOne, hasOne: now != nil)
      newBytes += now?.content.size ?? 0
      resources += (now == nil ? 0 : 1) - (row.hadOne ? 1 : 0)
      bytes += (now?.content.size ?? 0) - row.sizeBefore
    }
    if bundles.count > 1 {
      try db.eachDifference(of: channel, from: channel.version, to: target, note)
    } else {
      try db.eachDifference(takingBack: first.info, to: target, note)
    }
    self.changes = changes
    (self.counts, self.newBytes, self.resources, self.bytes) = (counts, newBytes, resources, bytes)
  }
}
