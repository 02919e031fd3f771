import Manifests
import System
import Values

/// Plans a release: which rows begin and end, and whether the rules allow it. It only reads, and only rows of URLs that
/// the release affects.
struct ReleasePlanner {
  private let db: Database
  private let request: ReleaseInput
  private let channel: ChannelInfo?
  private var touched: [AffectedURL] = []
  /// The positions in `touched`, kept only while a URL may come twice.
  private var touchedIndices: [ResourceURL: Int] = [:]
  private var mayRepeat = true
  private var infos: [BundleInfo?] = []
  private var bounds: HostBounds
  /// How many bundles, from the first, the request is about.
  private var bounded = 0
  /// Whether nothing will be released by this plan.
  private var isComparison = false
  /// Whether the entries of the version name their bundle.
  private let namesBundles: Bool
  /// The names of bundles, by their ids, as far as they were asked for.
  private var names: [Int64: BundleName] = [:]

  /// A URL that the release may change. There may be 100,000, nearly all of one bundle that holds nothing there yet;
  /// such a URL allocates nothing else.
  struct AffectedURL {
    typealias Desired = (bundle: Int, content: ResourceContent?)

    let url: ResourceURL
    /// The URL's id; nil if the channel has never seen it.
    let id: Int64?
    /// What each bundle holds now, by the bundle's id.
    let holders: [(bundle: Int64, held: HeldContent)]
    /// What one of the request's bundles, by its index there, should hold.
    private(set) var first: Desired
    private var others: [Desired] = []

    init(_ url: ResourceURL, id: Int64?, holders: [(bundle: Int64, held: HeldContent)], desired: Desired) {
      self.url = url
      self.id = id
      self.holders = holders
      first = desired
    }

    /// What each of the request's bundles should hold.
    var desired: [Desired] { [first] + others }
    var hasSeveral: Bool { !others.isEmpty }

    /// Sets what a bundle should hold; the last call for a bundle wins.
    mutating func setDesired(_ content: ResourceContent?, at index: Int) {
      if first.bundle == index {
        first.content = content
      } else if let known = others.firstIndex(where: { $0.bundle == index }) {
        others[known].content = content
      } else {
        others.append((index, content))
      }
    }

    func held(by bundle: Int64) -> HeldContent? { holders.first { $0.bundle == bundle }?.held }
  }

  private init(_ request: ReleaseInput, _ channel: ChannelInfo?, in db: Database) throws(StoreError) {
    self.request = request
    self.channel = try channel.map { (channel) throws(StoreError) in try db.namingBundles(channel) }
    self.db = db
    namesBundles =
      if let channel = self.channel { channel.bundlesSince != nil } else { try db.hasRoot(request.app) }
    bounds = HostBounds(channel, token: request.author, request.hosts)
  }

  /// Plans a release, with what it does to an open rollout.
  /// - Throws: the refusals of `StoreError`'s section on releases; all conflicts at once.
  static func plan(_ request: ReleaseInput, in db: Database) throws(StoreError) -> ReleasePlan {
    try request.check()
    let (channel, appExists) = try channel(of: request, in: db)
    // Releases build on the full version.
    let newest = channel?.full.version ?? .none
    if let planned = request.replaces, planned != newest, planned != channel?.version ?? .none {
      throw .otherVersion(planned: planned, newest: newest)
    }
    if request.rollout != nil, newest == .none { throw .rolloutOfFirst }
    if let channel, let rollout = channel.rollout {
      return try RolloutPlanner(request, channel, rollout, in: db).plan()
    }
    var plan = try plan(request, on: channel, appExists: appExists, in: db)
    if request.rollout != nil { plan.effect = .opens }
    return plan
  }

  /// Plans a release on what is live.
  /// - Parameters:
  ///   - bounded: how many of the request's bundles, from the first, may name only the hosts of its lists; nil: all.
  ///   - isComparison: whether the plan is only to be compared with another; what is being purged isn't left out of it then.
  static func plan(
    _ request: ReleaseInput, on channel: ChannelInfo?, appExists: Bool = true, bounded: Int? = nil,
    isComparison: Bool = false, in db: Database
  ) throws(StoreError) -> ReleasePlan {
    var planner = try ReleasePlanner(request, channel, in: db)
    planner.isComparison = isComparison
    planner.bounded = bounded ?? (request.ignoresHosts ? 0 : request.bundles.count)
    for index in request.bundles.indices { try planner.collectDesired(index) }
    return try planner.finish(appExists: appExists)
  }

  private static func channel(of request: ReleaseInput, in db: Database) throws(StoreError)
    -> (ChannelInfo?, appExists: Bool)
  {
    if let channel = try db.channel(request.app, request.channel), channel.app == request.app {
      return (channel, true)
    }
    let name = try AppRow.name(request.app, in: db)
    if let name, name != request.app { throw .appNameTaken(request.app, by: name) }
    guard request.publicURLForNew != nil else {
      throw name == nil ? .unknownApp(request.app) : .unknownChannel(request.app, request.channel)
    }
    return (nil, name != nil)
  }

  /// Notes what one of the request's bundles should hold under each URL that may change.
  private mutating func collectDesired(_ index: Int) throws(StoreError) {
    let bundle = request.bundles[index]
    var info: BundleInfo?
    if let channel { info = try db.bundle(bundle.name, of: channel.id) }
    infos.append(info)
    // What only follows the full version again is no part of the request.
    if index < bounded { try checkLimit(bundle.name, info) }
    switch bundle.change {
    case .unpublish:
      guard let info else { throw .unknownBundle(bundle.name) }
      for url in try db.liveURLs(ofBundle: info.id) { try setDesired(nil, under: url, at: index) }
    case .update(let base, let set, let remove):
      // No URL is both set and removed (`ReleaseInput.check`), so one comes twice only from another bundle or from a revert.
      mayRepeat = request.bundles.count > 1 || base != info?.version ?? .none
      try revertChanges(since: base, info, bundle.name, at: index)
      // Sorted by URL, as needed in the end: with 100,000 URLs, sorting only the keys is faster than sorting `touched`.
      for url in set.keys.sorted() { try setDesired(set[url], under: url, at: index) }
      for url in remove.sorted() { try setDesired(nil, under: url, at: index) }
    }
  }

  private func checkLimit(_ name: BundleName, _ info: BundleInfo?) throws(StoreError) {
    guard let limit = request.ifVersion, let info, let channel,
      let changed = try db.change(of: info, after: limit, in: channel)
    else { return }
    let kept = try db.stamp(of: changed, in: channel.id)
    throw .changedSince(
      name, limit: limit,
      release: kept ?? ReleaseStamp(version: changed, author: "", at: Moment(milliseconds: 0)))
  }

  /// If the bundle has changed after `base`, reverts those changes.
  private mutating func revertChanges(
    since base: ManifestVersion, _ info: BundleInfo?, _ name: BundleName, at index: Int
  ) throws(StoreError) {
    guard base != info?.version ?? .none else { return }
    var base = base
    // What the bundle holds in the full version is known, whether or not the release is kept that changed it last.
    if let info, let channel, channel.rollout != nil, base != .none,
      try db.bundle(info, atFull: channel.full.version).version == base
    {
      base = channel.full.version
    }
    guard base != .none else {
      guard let info else { return }
      for url in try db.liveURLs(ofBundle: info.id) { try setDesired(nil, under: url, at: index) }
      return
    }
    guard let channel, try db.isKept(base, in: channel.id) else { throw .unknownBase(name, base: base) }
    guard let info else { return }
    let forbidden = isComparison ? [] : try db.forbiddenDigests()
    for (url, held) in try db.contents(ofBundle: info.id, changedAfter: base, upTo: info.version) {
      // What is being purged doesn't come back, by whatever goes back to a version that has it.
      let content = held.flatMap { forbidden.contains($0.sha256) ? nil : $0 }
      try setDesired(content, under: url, at: index)
    }
  }

  private mutating func setDesired(_ content: ResourceContent?, under url: ResourceURL, at index: Int)
    throws(StoreError)
  {
    if content != nil, index < bounded { bounds.note(url) }
    if mayRepeat {
      if let touchedIndex = touchedIndices[url] {
        return touched[touchedIndex].setDesired(content, at: index)
      }
      touchedIndices[url] = touched.count
    }
    touched.append(try load(url, desired: (index, content)))
  }

  private func load(_ url: ResourceURL, desired: AffectedURL.Desired) throws(StoreError) -> AffectedURL {
    guard let channel, let id = try URLRow.id(of: url, in: channel.id, db) else {
      return AffectedURL(url, id: nil, holders: [], desired: desired)
    }
    return AffectedURL(url, id: id, holders: try db.liveHolders(ofURL: id), desired: desired)
  }

  // MARK: - From what is wanted to what changes

  private mutating func finish(appExists: Bool) throws(StoreError) -> ReleasePlan {
    try bounds.check()
    touchedIndices = [:]
    // They are usually sorted already.
    if !zip(touched, touched.dropFirst()).allSatisfy({ $0.url < $1.url }) { touched.sort { $0.url < $1.url } }
    try checkConflicts()
    var steps = [[ReleasePlan.Step]](repeating: [], count: request.bundles.count)
    var union: [ReleasePlan.Step] = []
    var ids: [ResourceURL: Int64] = [:]
    var shared: [ResourceURL: Int64] = [:]
    var claimed: [SharedURL] = []
    for state in touched {
      if let id = state.id { ids[state.url] = id }
      for (index, content) in state.desired {
        let old = infos[index].flatMap { state.held(by: $0.id) }
        if old?.content.identity != content?.identity {
          steps[index].append(ReleasePlan.Step(url: state.url, old: old, new: content))
        }
      }
      let before = state.holders.first?.held
      let after = contentAfter(state)
      var (oldBundle, bundles): (BundleName?, [BundleName]) = (nil, [])
      if namesBundles {
        (oldBundle, bundles) = (
          try state.holders.first.map { (holder) throws(StoreError) in try name(holder.bundle) },
          try bundlesAfter(state)
        )
      }
      if bundles.count > 1 {
        claimed.append(SharedURL(channel: request.channel, url: state.url, bundles: bundles))
      }
      if before?.content.identity != after?.identity || oldBundle != bundles.first {
        union.append(
          ReleasePlan.Step(
            url: state.url, old: before, new: after, oldBundle: oldBundle, bundle: bundles.first))
      } else {
        if let resource = before?.resource { shared[state.url] = resource }
      }
    }
    touched = []
    guard claimed.isEmpty else { throw .sharedURLs(request.app, claimed) }
    try checkDuplicates(union)
    return ReleasePlan(
      channel: channel, appExists: appExists, bundles: try bundlePlans(steps), union: union, urlIDs: ids,
      shared: shared, namesBundles: namesBundles)
  }

  /// The bundles that hold a URL after the release, sorted by name. Where entries name their bundle, it may be one.
  private mutating func bundlesAfter(_ state: AffectedURL) throws(StoreError) -> [BundleName] {
    var bundles = state.desired.compactMap { $0.content == nil ? nil : request.bundles[$0.bundle].name }
    for (bundle, _) in otherHolders(state) { bundles.append(try name(bundle)) }
    return bundles.sorted()
  }

  private mutating func name(_ bundle: Int64) throws(StoreError) -> BundleName {
    if let known = names[bundle] { return known }
    let name = try BundleRow.name(bundle, in: db)
    names[bundle] = name
    return name
  }

  private func bundlePlans(_ steps: [[ReleasePlan.Step]]) throws(StoreError) -> [ReleasePlan.Bundle] {
    var plans: [ReleasePlan.Bundle] = []
    for (index, bundle) in request.bundles.enumerated() {
      let info = infos[index]
      var replaced: ReleaseStamp?
      if case .update(let base, _, _) = bundle.change, let channel, let info, info.version > base,
        !steps[index].isEmpty
      {
        // Releases are made on the full version: the candidate is nothing that came meanwhile.
        if let changed = try db.change(of: info, after: base, in: channel) {
          replaced = try db.stamp(of: changed, in: channel.id)
        }
      }
      plans.append(
        ReleasePlan.Bundle(name: bundle.name, info: info, replaced: replaced, steps: steps[index]))
    }
    return plans
  }

  /// What bundles that the request doesn't change at this URL hold.
  private func otherHolders(_ state: AffectedURL) -> [(bundle: Int64, held: HeldContent)] {
    if state.holders.isEmpty { return [] }
    let changing = state.desired.compactMap { infos[$0.bundle]?.id }
    return state.holders.filter { !changing.contains($0.bundle) }
  }

  /// What the channel holds after the release, if there is no conflict.
  private func contentAfter(_ state: AffectedURL) -> ResourceContent? {
    if let content = state.first.content { return content }
    for case (_, .some(let content)) in state.desired { return content }
    return otherHolders(state).first?.held.content
  }

  /// "Two bundles may hold one URL only with equal bytes, ctype, headers, fallbacks and lazy."
  private func checkConflicts() throws(StoreError) {
    var conflicts: Set<URLConflict> = []
    for state in touched where state.hasSeveral || !state.holders.isEmpty {
      let url = state.url
      let wanted = state.desired.compactMap { index, content in
        content.map { (name: request.bundles[index].name, content: $0) }
      }
      guard let first = wanted.min(by: { $0.name < $1.name }) else { continue }
      for other in wanted where other.content.identity != first.content.identity {
        conflicts.insert(URLConflict(url: url, bundle: first.name, sha256: first.content.sha256))
      }
      for (bundle, held) in otherHolders(state)
      where wanted.contains(where: { $0.content.identity != held.content.identity }) {
        let name = try BundleRow.name(bundle, in: db)
        conflicts.insert(URLConflict(url: url, bundle: name, sha256: held.content.sha256))
      }
    }
    guard conflicts.isEmpty else {
      throw .urlConflicts(conflicts.sorted { ($0.url, $0.bundle) < ($1.url, $1.bundle) })
    }
  }

  /// "Resources that match each other are duplicates": among the new URLs, and between new and published ones.
  private func checkDuplicates(_ union: [ReleasePlan.Step]) throws(StoreError) {
    // A URL without an escape is its own key, and no URL is added twice.
    let hasEscapes = union.contains { $0.old == nil && $0.url.text.utf8.contains(UInt8(ascii: "%")) }
    if channel == nil, !hasEscapes { return }
    let leaving = Set(union.lazy.filter { $0.new == nil }.map(\.url))
    var added: [String: ResourceURL] = [:]
    var duplicates: [URLDuplicate] = []
    for step in union where step.old == nil {
      let key = step.url.matchKey
      if hasEscapes, let other = added.updateValue(step.url, forKey: key) {
        duplicates.append(URLDuplicate(url: step.url, other: other))
      }
      guard let channel else { continue }
      for other in try db.liveURLs(matching: key, in: channel.id)
      where other != step.url && !leaving.contains(other) {
        duplicates.append(URLDuplicate(url: step.url, other: other))
      }
    }
    guard duplicates.isEmpty else { throw .duplicateURLs(duplicates) }
  }
}
