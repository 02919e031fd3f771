import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import System

/// A publish from where its files are read and its plans made: what is left to do at the origin.
struct Publication: Sendable {
  let publisher: Publisher
  let local: LocalBundles
  /// The channel before the release.
  let remote: RemoteChannel
  /// What changes in each bundle.
  let plans: [Plan]
  /// What is to be signed; nil: nothing.
  let signing: ReleaseSigning?
  let options: PublishOptions
  /// The source maps that belong to files of the build; nil: none are sent.
  let sourceMaps: SourceMapPairing?

  var api: OriginClient { publisher.api }
  var channel: ChannelAddress { remote.address }
  var isDryRun: Bool { options.release.dryRun == true }

  /// Checks the build, sends what the origin lacks, makes the release, and waits for what was asked for.
  func run() throws(PublishError) -> PublishResult {
    let (report, uploads) = try checkAndCompare()
    let request = request(report)
    if let act = signing?.waiting { return try result(waitingAs: act, request, report) }
    guard options.sendsFiles else {
      let answer = try preview(request)
      try compare(answer.value.contents)
      var result = PublishResult(of: self, answer, uploads, check: report)
      result.sourceMaps = sourceMaps.map { SourceMapReport(pairing: $0) }
      return result
    }
    try announce(uploads, request)
    let document = try send(uploads, with: request)
    // Those of a channel that this release creates come after it: there is nothing yet that they could be of.
    var maps = sourceMaps.map { SourceMapReport(pairing: $0) }
    if remote.exists { maps?.answer = try sendSourceMaps() }
    let (answer, preparation, statements) = try release(request, document)
    if !remote.exists {
      // The release stands.
      do { maps?.answer = try sendSourceMaps() } catch { maps?.problem = error }
    }
    try keep(statements, unlessIn: answer.value)
    let (costs, afterwards) = try finish(answer.value, preparation)
    var result = PublishResult(
      of: self, answer, uploads, check: report, preparation: costs, afterwards: afterwards)
    result.statements = statements
    result.sourceMaps = maps
    return result
  }

  // MARK: - Before anything is sent

  /// Checks the build while the origin is asked what it lacks.
  private func checkAndCompare() throws(PublishError) -> (report: CheckReport?, uploads: [HashedFile]) {
    let checking = ThreadTask("check") { () throws(PublishError) in try checkBuild() }
    let comparing = Result { () throws(PublishError) in try missing() }
    // Fail before anything is sent.
    let report = try checking.value()
    return (report, try comparing.get())
  }

  /// Returns the files that the origin lacks: of the plans, and of what it lost; of all files if it is to check them.
  private func missing() throws(PublishError) -> [HashedFile] {
    // By URL, so that the files of a folder stay together; each content once.
    var files: [HashedFile] = []
    var seen: Set<SHA256> = []
    for plan in plans {
      for resource in plan.put where seen.insert(resource.content.sha256).inserted {
        files.append(resource.file)
      }
    }
    let lost = local.files(of: remote.damaged).values
    for file in lost.sorted(by: { $0.source.location < $1.source.location })
    where seen.insert(file.digest.sha256).inserted { files.append(file) }
    // Whoever wants every file read here wants that at the origin, too.
    for resource in options.rehash ? local.bundles.flatMap(\.resources) : []
    where seen.insert(resource.content.sha256).inserted { files.append(resource.file) }
    if files.isEmpty { return [] }
    // Sorted, as the origin stores them, so that its look-ups are adjacent.
    let digests = files.map(\.digest.sha256).sorted()
    let lacking = try PublishError.asking { () throws(OriginError) in
      try api.missing(of: digests, check: options.rehash)
    }
    return files.filter { lacking.contains($0.digest.sha256) }
  }

  private func request(_ report: CheckReport?) -> ReleaseRequest {
    var release = options.release
    // If the channel exists, there is nothing to create, and older origins don't know the member.
    release.create = remote.exists || options.creates ? nil : false
    release.allowSecrets = report.flatMap {
      $0.allowedSecrets.isEmpty ? nil : $0.allowedSecrets.map(\.text)
    }
    return ReleaseRequest(changes: plans.map(\.change), options: release)
  }

  // MARK: - Files

  /// Sends files while the request is encoded; returns it as JSON.
  private func send(_ uploads: [HashedFile], with request: ReleaseRequest) throws(PublishError) -> [UInt8] {
    let encoding = ThreadTask("document") { request.json }
    let sending = Result { () throws(PublishError) in try publisher.send(uploads, local.kept) }
    let document = encoding.value()
    try sending.get()
    return document
  }

  // MARK: - The release

  /// Makes the release, and caches what the bundles then have.
  private func release(_ request: ReleaseRequest, _ document: [UInt8]) throws(PublishError) -> Released {
    // Encodes the bundles' cache entries while the origin makes the release.
    let encoding = ThreadTask("cache entries") { encodedEntries() }
    let releasing = Result { () throws(PublishError) in try releasePrepared(request, document) }
    let entries = encoding.value()
    let released = try releasing.get()
    if !isDryRun, released.answer.value.scheduled == nil { cache(released.answer.value, entries) }
    return released
  }

  /// Returns the cache entries of each bundle that is to change, encoded; nil for the others.
  private func encodedEntries() -> [[UInt8]?] {
    zip(local.bundles, plans).map { bundle, plan in
      isDryRun || plan.isEmpty
        ? nil : RemoteBundle.cachedEntries(bundle.resources.map(RemoteBundle.Entry.init))
    }
  }

  /// Caches the new content of each bundle, so that the next publish needn't ask.
  private func cache(_ answer: ReleaseAnswer, _ entries: [[UInt8]?]) {
    // If this release created the channel, the origin's ID isn't known yet.
    guard let remote = remote.exists ? remote : try? RemoteChannel(api, publisher.cache, channel) else {
      return
    }
    for (((source, resources, state), plan), entries) in zip(zip(local.bundles, plans), entries) {
      let isChanged = answer.bundles.contains { $0.bundle == source.name.text && $0.isChanged }
      // If the release didn't change a bundle that it was to change, somebody else did.
      guard isChanged || plan.isEmpty else { continue }
      if isChanged, let entries { remote.keep(entries, at: answer.version, as: source.name) }
      guard state.isSettled else { continue }
      remote.keep(
        state, at: isChanged ? answer.version : plan.base, resources: Int64(resources.count),
        bytes: resources.clampedSum(\.content.size), as: source.name)
    }
  }

  // MARK: - Afterwards

  /// Waits for the release's costs and, if that is wanted, for the deltas from older versions.
  /// - Returns: the costs, and why the origin couldn't be asked about the finished release, if it couldn't.
  private func finish(_ answer: ReleaseAnswer, _ preparation: OriginAnswer<PreparationAnswer>?)
    throws(PublishError) -> (costs: OriginAnswer<PreparationAnswer>?, afterwards: PublishError?)
  {
    var costs = answer.scheduled == nil ? preparation : nil
    do {
      costs = try finalCosts(costs)
      if options.waitsForDeltas, !isDryRun { try publisher.waitForDeltas(channel) }
      return (costs, nil)
    } catch {
      // The release stands, even if the origin can't be asked about it any more, e.g. after a restart.
      if isDryRun { throw error }
      return (error.isAboutOlderVersions ? costs : nil, error)
    }
  }
}

extension RemoteBundle.Entry {
  init(_ resource: BuildFile) {
    self.init(
      url: resource.url.text, form: Form(resource.content), md5: resource.content.md5,
      sha256: resource.content.sha256, size: resource.content.size)
  }
}
