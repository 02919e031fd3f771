import Manifests
import Store
import System

/// A run of `xcache mirror`: updates a destination to what the origin has.
package final class MirrorRun {
  let source: any MirrorSource
  let destination: any Destination
  let options: MirrorOptions
  let meter: Meter
  /// The files of the previous run according to `mirror.json`; empty where that isn't reliable.
  var before: [String: MirrorIndex.File] = [:]
  /// The mark of an interrupted run.
  private var mark: RunMark?
  private var isMarked = false
  /// The channels that this run updates or drops.
  private var about: Set<MirroredChannel> = []
  /// How often a channel is planned, if the origin drops deltas meanwhile.
  private static let plans = 4

  /// Creates a run.
  /// - Throws: If the place can't be used.
  package init(
    from source: any MirrorSource, to place: MirrorPlace, _ options: MirrorOptions,
    progress: @escaping @Sendable (MirrorProgress) -> Void = { _ in }
  ) throws(MirrorError) {
    self.source = source
    self.options = options
    destination = try place.destination()
    meter = Meter(source, progress)
  }

  /// Updates the mirror.
  /// - Throws: `locked`, `otherOrigin`, `newer`, `unlistedChannels`, `noChannel`, `interrupted`, and what reading and writing may throw. The next
  ///   run continues where this one stopped.
  package func run() throws(MirrorError) -> MirrorReport {
    try destination.begin()
    defer { destination.end() }
    try meter.hold()
    defer { source.release() }
    do throws(MirrorError) {
      return try updateAll()
    } catch {
      if meter.hasLostLease { throw .interrupted(error.description) }
      throw error
    }
  }

  private func updateAll() throws(MirrorError) -> MirrorReport {
    let origin = try source.origin()
    let old = try readIndex(origin)
    let states = try source.channels(keep: options.keep)
    let chosen = states.filter { options.selection.contains($0.name) }
    if old == nil { try requireNoUnlistedChannels(origin) }
    let (kept, gone) = try carried(old, origin, states)
    let unknown = options.selection.unknown(among: states.map(\.name) + gone)
    if chosen.isEmpty && gone.isEmpty || unknown != nil {
      throw .noChannel(nothing(unknown, states, origin))
    }
    about = Set(chosen.map(\.name) + gone)
    var report = MirrorReport(place: destination.name)
    var channels = kept
    let trusted = trusted(old)
    for state in chosen {
      do throws(MirrorError) {
        channels.append(try updateSound(state, origin, trusted.first { $0.name == state.name }, &report))
        report.channels.append(.init(app: state.app, channel: state.channel, version: state.version))
      } catch .damaged(let files) {
        try report.note(files, of: state, source)
        // The next run of the channel then checks all of it.
        if var channel = old?.channels.first(where: { $0.name == state.name }) {
          channel.isUnfinished = true
          channels.append(channel)
        }
      }
    }
    (report.gone, report.untouched, report.readable) = (gone, kept.map(\.name), origin.readable)
    report.unfinished = kept.filter(\.isUnfinished).map(\.name)
    try finish(old, origin, states, channels, &report)
    return report
  }

  // MARK: - What is there

  private func readIndex(_ origin: OriginState) throws(MirrorError) -> MirrorIndex? {
    mark = try destination.read(RunMark.path).map { RunMark(parsing: $0) }
    guard let bytes = try destination.read(MirrorIndex.path) else { return nil }
    // An unreadable index is ignored, and rewritten at the end.
    guard let index = try? MirrorIndex(parsing: bytes) else {
      if MirrorIndex.isNewer(bytes) { throw .newer(place: destination.name) }
      return nil
    }
    guard index.origin == origin.id else { throw .otherOrigin(place: destination.name) }
    for channel in trusted(index) {
      for (path, file) in channel.files { before[path] = file }
    }
    return index
  }

  /// Returns the channels for which `mirror.json` is reliable: those that no interrupted run left unfinished.
  private func trusted(_ index: MirrorIndex?) -> [MirrorIndex.Channel] {
    (index?.channels ?? []).filter { !isHalfWay($0) }
  }

  private func isHalfWay(_ channel: MirrorIndex.Channel) -> Bool {
    channel.isUnfinished || (mark?.names(channel.name) ?? false)
  }

  /// Returns what the run may update, drop and remove: what was requested, and what the token may read.
  private func selections(_ origin: OriginState) -> [ChannelSelection] {
    [options.selection, origin.readable]
  }

  private func isAbout(_ channel: MirroredChannel, _ origin: OriginState) -> Bool {
    selections(origin).allSatisfy { $0.contains(channel) }
  }

  /// Without a `mirror.json`, it is unknown what else belongs to the copy: a run of some channels would write one that omits
  /// the others.
  private func requireNoUnlistedChannels(_ origin: OriginState) throws(MirrorError) {
    if selections(origin).allSatisfy(\.isAll) { return }
    var unlisted: Set<MirroredChannel> = []
    for path in try destination.list() where path.hasSuffix("/configure.json") {
      guard case .document(let channel) = MirrorPath.owner(path), path == "\(channel.folder)/configure.json",
        !isAbout(channel, origin)
      else { continue }
      // A channel that an interrupted first run left is in no mirror.json, and waits for its next run.
      if let named = mark?.channels, named.contains(channel) { continue }
      unlisted.insert(channel)
    }
    if !unlisted.isEmpty { throw .unlistedChannels(place: destination.name, unlisted.sorted()) }
  }

  /// Returns the channels of the copy that this run doesn't update: those it isn't about, which stay as they are, and those
  /// that the origin no longer has.
  private func carried(_ old: MirrorIndex?, _ origin: OriginState, _ states: [MirroredChannelState])
    throws(MirrorError) -> (kept: [MirrorIndex.Channel], gone: [MirroredChannel])
  {
    let there = Set(states.map(\.name))
    var kept: [MirrorIndex.Channel] = []
    var gone: [MirroredChannel] = []
    for var channel in old?.channels ?? [] {
      if !isAbout(channel.name, origin) {
        channel.isUnfinished = isHalfWay(channel)
        kept.append(channel)
      } else if !there.contains(channel.name) {
        gone.append(channel.name)
      }
    }
    // An origin with nothing at all is no reason to empty its copy.
    return (kept, there.isEmpty ? [] : gone.sorted())
  }

  private func nothing(_ unknown: String?, _ states: [MirroredChannelState], _ origin: OriginState) -> String
  {
    let there = states.map(\.name.description).sorted().joined(separator: ", ")
    let limits = origin.readable.message.map { " that the token may read (\($0))" } ?? ""
    if there.isEmpty { return "the origin has no channel with a release\(limits)" }
    return
      "no channel\(limits) with a release is \(unknown ?? options.selection.message ?? "there"); there is \(there)"
  }

  // MARK: - A channel

  /// Updates one channel. Older versions don't hold up the newest: if only they name damaged files, they are left out.
  /// - Throws: `damaged`.
  private func updateSound(
    _ state: MirroredChannelState, _ origin: OriginState, _ known: MirrorIndex.Channel?,
    _ report: inout MirrorReport
  ) throws(MirrorError) -> MirrorIndex.Channel {
    do throws(MirrorError) {
      return try update(state, origin, known, &report)
    } catch {
      guard case .damaged(let files) = error else { throw error }
      let digests = Set(files.map(\.sha256))
      let versions = try soundVersions(of: state, without: digests)
      if versions.isEmpty || versions.count == state.versions.count { throw error }
      var sound = state
      sound.versions = versions
      let channel = try update(sound, origin, known, &report)
      report.note(digests, in: Array(state.versions.dropLast(versions.count)), of: state)
      return channel
    }
  }

  /// Returns the newest versions, oldest first, up to the first that names one of the files; empty if the newest or the
  /// candidate does.
  private func soundVersions(of state: MirroredChannelState, without digests: Set<SHA256>)
    throws(MirrorError) -> [ManifestVersion]
  {
    func isSound(_ version: ManifestVersion) throws(MirrorError) -> Bool {
      try !MirrorReport.items(of: version, state, source).contains { digests.contains($0.entry.sha256) }
    }
    if let candidate = state.candidate, try !isSound(candidate) { return [] }
    var sound: [ManifestVersion] = []
    for version in state.versions.reversed() {
      guard try isSound(version) else { break }
      sound.append(version)
    }
    return sound.reversed()
  }

  /// Updates one channel.
  /// - Throws: `damaged`.
  private func update(
    _ state: MirroredChannelState, _ origin: OriginState, _ known: MirrorIndex.Channel?,
    _ report: inout MirrorReport
  ) throws(MirrorError) -> MirrorIndex.Channel {
    var lost: Set<String> = []
    for _ in 0..<Self.plans {
      let plan = try ChannelPlan(
        state, of: origin, from: source, options: options, without: lost, after: known?.trust)
      guard let (channel, lostZips) = try carryOut(plan, known, &lost) else { continue }
      report.zipsToCome += plan.missingZips(in: channel) - lostZips.count
      report.lostZips += lostZips
      return channel
    }
    throw .damaged([])
  }

  /// Updates one channel according to its plan; returns nil if the origin no longer has a delta or pack in the plan, and adds it
  /// to `lost`.
  private func carryOut(_ plan: ChannelPlan, _ known: MirrorIndex.Channel?, _ lost: inout Set<String>)
    throws(MirrorError) -> (MirrorIndex.Channel, lostZips: [String])?
  {
    if let known, known.inputs == plan.inputs, plan.missingZips(in: known) == 0, !options.repairs,
      known.files.allSatisfy({ Self.isPackWhole($0.path, $0.file) }), try isThere(known.files)
    {
      return (known, [])
    }
    var work = ChannelWork(self, plan, isIndexed: known != nil)
    try work.placeResources()
    let gone = try work.placeDerived()
    if !gone.isEmpty {
      lost.formUnion(gone)
      return nil
    }
    try work.placeZips()
    try work.writeDocuments()
    let state = plan.state
    let channel = MirrorIndex.Channel(
      app: state.app, appID: state.appID, channel: state.channel, publicURL: state.publicURL,
      version: state.version, digest: state.digest, versions: state.versions, inputs: plan.inputs,
      files: work.files.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, trust: plan.trust?.index)
    return (channel, work.lostZips)
  }

  /// Whether a file, if it is a pack, has the bytes that its name says: an older xcache copied what a server answered.
  private static func isPackWhole(_ path: String, _ file: MirrorIndex.File) -> Bool {
    guard path.hasSuffix(".xpk"), let pack = PackPath(download: path) else { return true }
    return file.sha256.hex.hasPrefix(pack.mark)
  }

  private func isThere(_ files: [(path: String, file: MirrorIndex.File)]) throws(MirrorError) -> Bool {
    let sizes = try destination.sizes(of: files.map(\.path))
    return zip(files, sizes).allSatisfy { $0.file.size == $1 }
  }

  /// Records that documents and `mirror.json` may disagree from now on. Must be called before the first document is written.
  func markUnfinished() throws(MirrorError) {
    if isMarked { return }
    let head = FileHead(type: "application/json", isImmutable: false)
    let mark = (mark ?? RunMark([])).union(about)
    try destination.write(mark.document, as: RunMark.path, head)
    // If a power cut takes its bytes, the mark names every channel. Its name is durable before the first document becomes
    // visible, since that syncs first.
    try destination.show()
    isMarked = true
  }

  // MARK: - The end

  private func finish(
    _ old: MirrorIndex?, _ origin: OriginState, _ states: [MirroredChannelState],
    _ channels: [MirrorIndex.Channel],
    _ report: inout MirrorReport
  ) throws(MirrorError) {
    let now = Clock.unixMilliseconds()
    var index = MirrorIndex(
      origin: origin.id, defaultApp: origin.defaultApp, at: now, audit: origin.audit, channels: channels,
      leaving: old?.leaving ?? [:], leftOut: leftOut(old, origin, states, channels),
      purged: origin.purges.map(\.sha256).sorted { $0.hex < $1.hex })
    let named = Set(channels.lazy.flatMap { $0.files.lazy.map(\.path) })
    for (path, _) in (old?.channels ?? []).lazy.flatMap(\.files)
    where !named.contains(path) && index.leaving[path] == nil {
      index.leaving[path] = now
    }
    index.leaving = index.leaving.filter { !named.contains($0.key) }
    var gone = options.prunes ? try prune(&index, old, origin, states, report.stopped, now) : []
    gone = try Array(Set(gone).union(tainted(&index, old, origin, states, &report, now))).sorted()
    report.putsOffPruning = options.prunes && old == nil && !index.leaving.isEmpty
    try write(index)
    // Before files are removed: where releases are pushed to, the origin then knows that some may be gone.
    try register(index, origin, states)
    // If a run is interrupted here, its mirror.json names what is there, and nothing else.
    if !gone.isEmpty { try remove(gone, &index) }
    report.leftOut = index.leftOut ?? []
    report.files = index.fileCount
    report.bytes = channels.clampedSum { $0.files.clampedSum(\.file.size) }
    (report.written, report.writtenBytes) = meter.written
    (report.removed, report.leaving) = (gone.count, index.leaving.count)
  }

  /// Returns what the origin has and the copy doesn't; for what the token doesn't show, what was known before.
  private func leftOut(
    _ old: MirrorIndex?, _ origin: OriginState, _ states: [MirroredChannelState],
    _ channels: [MirrorIndex.Channel]
  ) -> [MirroredChannel] {
    let hidden = (old?.leftOut ?? []).filter { !origin.readable.contains($0) }
    return Set(states.map(\.name) + hidden).subtracting(channels.map(\.name)).sorted()
  }

  /// Writes `mirror.json`, and removes the mark once it is durable.
  private func write(_ index: MirrorIndex) throws(MirrorError) {
    let document = index.document
    let wrote = isMarked || mark != nil || meter.written.0 > 0
    try destination.write(
      document, as: MirrorIndex.path, FileHead(type: "application/json", isImmutable: false))
    try destination.sync()
    try destination.show()
    meter.wrote(Int64(document.count))
    // If nothing else changed, there is no mark, and losing this mirror.json leaves the previous one.
    if wrote {
      try destination.sync()
      try destination.remove([RunMark.path])
      (isMarked, mark) = (false, nil)
    }
  }

  /// Finds files that no kept version has named for the grace period; `index` still lists them as leaving.
  private func prune(
    _ index: inout MirrorIndex, _ old: MirrorIndex?, _ origin: OriginState, _ states: [MirroredChannelState],
    _ stopped: [MirroredChannel], _ now: Int64
  ) throws(MirrorError) -> [String] {
    var apps: [Int64: AppName] = [:]
    for channel in (old?.channels ?? []) { apps[channel.appID] = channel.app }
    for state in states { apps[state.appID] = state.app }
    let pruning = Pruning(selections: selections(origin), apps: apps, stopped: Set(stopped))
    let named = Set(index.channels.lazy.flatMap { $0.files.lazy.map(\.path) })
    // Only mirror.json tells the copy's files from those that were there before.
    let grace = old == nil ? .max : options.grace
    let (gone, leaving) = pruning.split(
      try destination.list(), named: named, leaving: index.leaving, now: now, grace: grace)
    index.leaving = leaving
    for path in gone { index.leaving[path] = now }
    return gone
  }

  /// Finds files with purged bytes, or made of them, that no kept version names; they don't wait for anything. A channel that
  /// couldn't be updated may name them still: it loses them all the same.
  private func tainted(
    _ index: inout MirrorIndex, _ old: MirrorIndex?, _ origin: OriginState, _ states: [MirroredChannelState],
    _ report: inout MirrorReport, _ now: Int64
  ) throws(MirrorError) -> [String] {
    let taint = Taint(origin.purges, lastRun: old?.at, now: now)
    guard taint.isPossible else { return [] }
    var apps: [Int64: AppName] = [:]
    for channel in (old?.channels ?? []) { apps[channel.appID] = channel.app }
    for state in states { apps[state.appID] = state.app }
    let pruning = Pruning(selections: selections(origin), apps: apps)
    for i in index.channels.indices where report.stopped.contains(index.channels[i].name) {
      let count = index.channels[i].files.count
      index.channels[i].files.removeAll { taint.covers($0.path) }
      if index.channels[i].files.count < count { report.lacking.append(index.channels[i].name) }
    }
    let named = Set(index.channels.lazy.flatMap { $0.files.lazy.map(\.path) })
    // A store may list an object late; what the last run recorded is there all the same.
    let recorded = (old?.channels ?? []).lazy.flatMap { $0.files.lazy.map(\.path) }
    let gone = try Set(destination.list()).union(recorded).union(index.leaving.keys).filter {
      // All apps share the deltas, so only a run for all of them prunes those; but none may have purged bytes.
      !named.contains($0)
        && (taint.covers($0) && pruning.mayRemove($0) || DeltaPath(download: $0) != nil && taint.isOf($0))
    }
    for path in gone { index.leaving[path] = now }
    return Array(gone)
  }

  private func remove(_ gone: [String], _ index: inout MirrorIndex) throws(MirrorError) {
    try destination.remove(gone)
    for path in gone { index.leaving[path] = nil }
    let document = index.document
    try destination.write(
      document, as: MirrorIndex.path, FileHead(type: "application/json", isImmutable: false))
    try destination.sync()
    try destination.show()
  }

  /// Registers the mirror's versions, except those of channels that the origin no longer has or doesn't show.
  private func register(_ index: MirrorIndex, _ origin: OriginState, _ states: [MirroredChannelState])
    throws(MirrorError)
  {
    let there = Set(states.map(\.name))
    let versions = index.channels.filter { there.contains($0.name) }.flatMap { channel in
      channel.versions.map { ChannelVersion(app: channel.app, channel: channel.channel, version: $0) }
    }
    // Runs with tokens for different channels of the same copy must not overwrite each other's registration.
    let limits = origin.readable.message.map { " (\($0))" } ?? ""
    try source.register(options.name ?? destination.name + limits, versions)
  }
}
