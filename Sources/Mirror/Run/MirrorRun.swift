import Manifests
import Platform
import Store

/// One run of `xcache mirror`: brings a destination to what the origin has.
package final class MirrorRun {
  let source: any MirrorSource
  let destination: any Destination
  let options: MirrorOptions
  let meter: Meter
  /// The files of the run before, as `mirror.json` has them; nothing where that can't be relied on.
  var before: [String: MirrorIndex.File] = [:]
  private var isMarked = false

  /// Is there from before the first document is changed until `mirror.json` agrees with all of them again.
  private static let unfinished = ".xcache-mirror/unfinished"

  package init(
    from source: any MirrorSource, to place: MirrorPlace, _ options: MirrorOptions,
    progress: @escaping @Sendable (MirrorProgress) -> Void = { _ in }
  ) throws(MirrorError) {
    self.source = source
    self.options = options
    destination = try place.destination()
    meter = Meter(source, progress)
  }

  /// - Throws: `locked`, `otherOrigin`, `noChannel`, and what reading and writing may throw. The next run goes on
  ///   where this one stopped.
  package func run() throws(MirrorError) -> MirrorReport {
    try destination.begin()
    defer { destination.end() }
    try meter.hold()
    defer { source.release() }
    let origin = try source.origin()
    let old = try readIndex(origin)
    let states = try source.channels(options.channels, keep: options.keep)
    guard !states.isEmpty else {
      throw .noChannel(
        "no channel named \(options.channels.map(\.text).sorted().joined(separator: ", ")) has a release")
    }
    var report = MirrorReport(place: destination.name)
    // Channels that this run isn't about stay as they are.
    var channels = (old?.channels ?? []).filter { !options.channels.contains($0.channel) }
    for state in states {
      let plan = try ChannelPlan(state, of: origin, from: source, options: options)
      let known = old?.channels.first { $0.app == state.app && $0.channel == state.channel }
      let channel = try bring(plan, known)
      report.zipsToCome += plan.missingZips(in: channel)
      channels.append(channel)
      report.channels.append(.init(app: state.app, channel: state.channel, version: state.version))
    }
    try finish(old, origin, channels, &report)
    return report
  }

  private func readIndex(_ origin: OriginState) throws(MirrorError) -> MirrorIndex? {
    guard let bytes = try destination.read(MirrorIndex.path) else { return nil }
    // One that can't be read tells nothing; it is written anew at the end.
    guard let index = try? MirrorIndex(parsing: bytes) else { return nil }
    guard index.origin == origin.id else { throw .otherOrigin(place: destination.name) }
    if try destination.read(Self.unfinished) != nil { return trustingNothing(index) }
    for channel in index.channels {
      for (path, file) in channel.files { before[path] = file }
    }
    return index
  }

  /// Of a run that was ended half-way only what it wanted to remove is of use.
  private func trustingNothing(_ index: MirrorIndex) -> MirrorIndex {
    var index = index
    index.channels = []
    return index
  }

  /// Brings one channel to its plan.
  private func bring(_ plan: ChannelPlan, _ known: MirrorIndex.Channel?) throws(MirrorError)
    -> MirrorIndex.Channel
  {
    if let known, known.inputs == plan.inputs, plan.missingZips(in: known) == 0, !options.repairs,
      try isThere(known.files)
    {
      return known
    }
    var work = ChannelWork(self, plan)
    try work.placeResources()
    try work.placeDeltas()
    try work.placeZips()
    try work.writeDocuments()
    let state = plan.state
    return MirrorIndex.Channel(
      app: state.app, appID: state.appID, channel: state.channel, publicURL: state.publicURL,
      version: state.version, digest: state.digest, versions: state.versions, inputs: plan.inputs,
      files: work.files.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
  }

  private func isThere(_ files: [(path: String, file: MirrorIndex.File)]) throws(MirrorError) -> Bool {
    let sizes = try destination.sizes(of: files.map(\.path))
    return zip(files, sizes).allSatisfy { $0.file.size == $1 }
  }

  /// Notes that documents and `mirror.json` may disagree from now on; called before the first document is written.
  func markUnfinished() throws(MirrorError) {
    if isMarked { return }
    try destination.write([], as: Self.unfinished, FileHead(type: "text/plain", isImmutable: false))
    // It has no bytes that could be lost. Its name is safe when the first document is shown, which settles before.
    try destination.show()
    isMarked = true
  }

  // MARK: - The end

  private func finish(
    _ old: MirrorIndex?, _ origin: OriginState, _ channels: [MirrorIndex.Channel],
    _ report: inout MirrorReport
  ) throws(MirrorError) {
    let now = Clock.unixMilliseconds()
    var index = MirrorIndex(
      origin: origin.id, defaultApp: origin.defaultApp, at: now, audit: origin.audit, channels: channels,
      leaving: old?.leaving ?? [:])
    let named = Set(channels.lazy.flatMap { $0.files.lazy.map(\.path) })
    for path in before.keys where !named.contains(path) && index.leaving[path] == nil {
      index.leaving[path] = now
    }
    index.leaving = index.leaving.filter { !named.contains($0.key) }
    if options.prunes { report.removed = try prune(&index, named, now) }
    let document = index.document
    let wrote = isMarked || meter.written.0 > 0 || report.removed > 0
    try destination.write(
      document, as: MirrorIndex.path, FileHead(type: "application/json", isImmutable: false))
    try destination.settle()
    try destination.show()
    meter.wrote(Int64(document.count))
    // Where nothing else changed, the mark isn't there, and losing this mirror.json leaves the one before it.
    if wrote {
      try destination.settle()
      try destination.remove([Self.unfinished])
    }
    try register(index)
    report.files = index.fileCount
    report.bytes = channels.clampedSum { $0.files.clampedSum(\.file.size) }
    (report.written, report.writtenBytes) = meter.written
    report.leaving = index.leaving.count
  }

  /// Removes what no kept version names since the grace time began to run; gives how many files.
  private func prune(_ index: inout MirrorIndex, _ named: Set<String>, _ now: Int64) throws(MirrorError)
    -> Int
  {
    var leaving: [String: Int64] = [:]
    var gone: [String] = []
    for (path, changed) in try destination.list() where !named.contains(path) {
      // What no mirror.json ever listed, a run that was ended brought.
      let since = index.leaving[path] ?? changed
      if now - since >= options.grace { gone.append(path) } else { leaving[path] = since }
    }
    try destination.remove(gone)
    index.leaving = leaving
    return gone.count
  }

  private func register(_ index: MirrorIndex) throws(MirrorError) {
    let versions = index.channels.flatMap { channel in
      channel.versions.map { MirroredVersion(app: channel.app, channel: channel.channel, version: $0) }
    }
    try source.register(options.name ?? destination.name, versions)
  }
}
