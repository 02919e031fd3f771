import BuildCheck
import HTTPClient
import Manifests
import OriginAPI
import System

/// How a publish is carried out.
package struct PublishOptions: Sendable {
  /// What the release itself says.
  package var release: ReleaseOptions
  /// Refused when an update from the version it replaces costs a device more than this many bytes. A channel's first
  /// release replaces none.
  package var maxUpdate: Int64?
  /// Returns when the deltas on older versions are made, too.
  package var waitsForDeltas = false
  package var check = CheckOptions.all
  /// Every file is read and all entries are asked for, whatever was kept of earlier publishes.
  package var rehash = false
  /// Files that the origin lacks are sent; a dry run may do without, and says less then.
  package var sendsFiles = true

  package init(_ release: ReleaseOptions = ReleaseOptions()) { self.release = release }
}

/// Publishes folders and zips: scan, map, hash, compare with the origin, send what it lacks, release.
package struct Publisher: Sendable {
  /// What a publish is at, for progress lines.
  package enum Progress: Hashable, Sendable {
    /// Files whose digests are known, of all; bytes that were read for it.
    case hashing(done: Int, of: Int, bytes: Int64)
    /// The build is checked.
    case checking
    /// The origin lacks so many files, and their bytes, which are sent next; told once, where there are any.
    case lacking(files: Int, bytes: Int64)
    /// Bytes of files sent, of those that the origin lacks; more than these where attempts failed.
    case sending(Int64, of: Int64)
    /// The origin makes deltas on what devices have: files done, of all that are new.
    case preparing(done: Int64, of: Int64)
    /// All is there; the origin makes the release.
    case releasing
    /// The release is visible; deltas on older versions are made.
    case waitingForDeltas(left: Int64)
  }

  let api: OriginClient
  let cache: PublishCache
  /// Name and version of what publishes.
  let program: String
  let progress: @Sendable (Progress) -> Void

  /// - Parameters:
  ///   - program: name and version of what publishes: what another one found unchanged isn't believed.
  ///   - progress: called often, from any thread, one call at a time for each kind.
  package init(
    _ api: OriginClient, cache: PublishCache, program: String = "",
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.api = api
    self.cache = cache
    self.program = program
    self.progress = progress
  }

  /// Makes one release of all `bundles`.
  /// - Throws: `PublishError`; then the origin is as it was, but for files that it keeps for the next attempt.
  package func publish(
    _ bundles: [BundleSource], to channel: ChannelAddress, _ options: PublishOptions = PublishOptions()
  ) throws(PublishError) -> PublishResult {
    let unpacked = try UnpackedZips(bundles)
    // Its folders are there until the last file is sent.
    defer { withExtendedLifetime(unpacked) {} }
    let found = try FoundFiles(unpacked.bundles, program: program)
    if !options.rehash, let result = try publishUnchanged(found, to: channel, options) { return result }
    let local = try resources(of: found, rehash: options.rehash)
    defer { for cache in local.caching { try? cache.value() } }
    do {
      return try publish(local, to: channel, options, trustsCache: !options.rehash)
    } catch {
      // What was kept is of a version that this origin has forgotten, or never had.
      guard !options.rehash, case .origin(.refused(let problem)) = error, problem.code == "unknown-base"
      else {
        throw error
      }
      return try publish(local, to: channel, options, trustsCache: false)
    }
  }

  private func publish(
    _ local: LocalBundles, to channel: ChannelAddress, _ options: PublishOptions, trustsCache: Bool
  ) throws(PublishError) -> PublishResult {
    let remote = try RemoteChannel(api, cache, channel)
    let plans = try self.plans(local, remote, trustsCache: trustsCache)
    let checking = Beside { () throws(PublishError) in try check(local, plans, remote, options.check) }
    let healing = local.files(of: remote.damaged)
    let request = ReleaseRequest(changes: plans.map(\.change), options: options.release)
    let isDryRun = options.release.dryRun == true
    let asked = Result { () throws(PublishError) in try missing(plans, healing) }
    // Before anything is sent.
    let found = try checking.value()
    let uploads = try asked.get()
    guard options.sendsFiles else {
      let answer = try preview(request, channel)
      return PublishResult(
        answer, plans, local, uploads, check: found, bytesSent: api.bytesSent, sendsFiles: false)
    }
    try announce(uploads, request, channel)
    let document = Beside { () throws(PublishError) in request.json }
    let sent = Result { () throws(PublishError) in try send(uploads, local.kept) }
    let json = try document.value()
    try sent.get()
    let newest = remote.overview?.version ?? .none
    // What is kept of the bundles is put together while the origin makes the release.
    let entries = Beside { () throws(PublishError) in
      zip(local.bundles, plans).map { bundle, plan in
        isDryRun || plan.isEmpty
          ? nil : RemoteBundle.cachedEntries(bundle.resources.map(RemoteBundle.Entry.init))
      }
    }
    let released = Result { () throws(PublishError) in
      try releasePrepared(request, json, plans, channel, options, newest: newest, local.kept)
    }
    let kept = try entries.value()
    var (answer, preparation) = try released.get()
    if !isDryRun {
      // Of a channel that this release made, the origin's id isn't known yet.
      let remote = remote.exists ? remote : try? RemoteChannel(api, cache, channel)
      if let remote { keep(answer.value, local, plans, kept, remote) }
    }
    var afterwards: PublishError?
    do {
      preparation = try finish(preparation, channel, options.release)
      if options.waitsForDeltas, !isDryRun { try waitForDeltas(channel) }
    } catch {
      // The release stands, whatever can't be asked about it any more, e.g. since the origin was started anew.
      if isDryRun { throw error }
      afterwards = error
      preparation = nil
    }
    return PublishResult(
      answer, plans, local, uploads, check: found, preparation: preparation, afterwards: afterwards,
      bytesSent: api.bytesSent,
      hasNoLimit: options.maxUpdate != nil && preparation?.value.cost.isFirst == true)
  }

  /// What each bundle has to become.
  private func plans(_ local: LocalBundles, _ remote: RemoteChannel, trustsCache: Bool) throws(PublishError)
    -> [Plan]
  {
    var plans: [Plan] = []
    for bundle in local.bundles {
      let held = try remote.bundle(bundle.source.name, trustsCache: trustsCache)
      plans.append(Plan(bundle.source.name, local: bundle.resources, remote: held))
    }
    return plans
  }

  /// Makes one release that takes whole bundles away.
  package func unpublish(
    _ bundles: [BundleName], from channel: ChannelAddress, _ options: ReleaseOptions = ReleaseOptions()
  ) throws(PublishError) -> OriginAnswer<ReleaseAnswer> {
    try release(
      ReleaseRequest(changes: bundles.map { .unpublish($0) }, options: options), [], channel, plan: nil,
      RetainedBytes())
  }

  // MARK: Local files

  /// What is here: the resources of each bundle by URL, and how many files were read for it.
  struct LocalBundles {
    var bundles: [(source: BundleSource, resources: [BuildFile], state: LocalState)] = []
    var filesRead = 0
    /// Patterns that match nothing.
    var idle: [BundleSource.WrittenPattern] = []
    /// Of small files that were read.
    let kept = RetainedBytes()
    /// What is kept for the next publish, while it is written.
    var caching: [Beside<Void>] = []

    var bytes: Int64 { bundles.reduce(0) { $0 + $1.resources.reduce(0) { $0 + $1.content.size } } }

    /// One file for each of these contents that is here.
    func files(of contents: Set<SHA256>) -> [SHA256: HashedFile] {
      var files: [SHA256: HashedFile] = [:]
      if contents.isEmpty { return files }
      for bundle in bundles {
        for resource in bundle.resources where contents.contains(resource.content.sha256) {
          files[resource.content.sha256] = resource.file
        }
      }
      return files
    }
  }

  private func resources(of found: FoundFiles, rehash: Bool) throws(PublishError) -> LocalBundles {
    var mapped: [[MappedFile]] = []
    for bundle in found.bundles { mapped.append(try Mapping.files(of: bundle)) }
    var local = LocalBundles()
    local.idle = found.bundles.flatMap(\.idle)
    for ((bundle, state), files) in zip(zip(found.bundles, found.states), mapped) {
      let hashed = try hash(bundle.source, files.map(\.file), keeping: local.kept, rehash: rehash)
      local.filesRead += hashed.read
      if let caching = hashed.caching { local.caching.append(caching) }
      local.bundles.append(
        (bundle.source, zip(files, hashed.files).map { BuildFile($0, $1) }, state))
    }
    return local
  }

  /// The digests of `files`, with the help of what was kept for the bundle's folders.
  private func hash(
    _ bundle: BundleSource, _ files: [SourceFile], keeping bytes: RetainedBytes, rehash: Bool
  ) throws(PublishError) -> (files: [HashedFile], read: Int, caching: Beside<Void>?) {
    let folders = bundle.folders.map { (try? Kernel.realPath($0.path)) ?? $0.path }
    let key = ([bundle.name.text] + folders).joined(separator: "\n")
    let kept = rehash ? nil : cache.read(.hashes, key)
    let now = Clock.unixMilliseconds() * 1_000_000
    let progress = self.progress
    let hashed = try Hashing(cache: kept.flatMap { HashCache(records: $0) } ?? HashCache(), keeping: bytes)
      .digests(of: files) { progress(.hashing(done: $0, of: files.count, bytes: $1)) }
    if bundle.folders.contains(where: \.isUnpacked) { return (hashed.files, hashed.read, nil) }
    let caching = Beside { [cache] () throws(PublishError) in
      let records = HashCache(hashed.files.map { ($0.source.status, $0.digest) }, now: now).bytes
      // A cache that can't be written only costs time.
      if records != kept { try? cache.write(.hashes, key, records) }
    }
    return (hashed.files, hashed.read, caching)
  }

  // MARK: Origin

  /// What the origin lacks of the plans and of what it lost.
  private func missing(_ plans: [Plan], _ healing: [SHA256: HashedFile]) throws(PublishError) -> [HashedFile]
  {
    // By URL, so that the files of a folder come together; each content once.
    var files: [HashedFile] = []
    var seen: Set<SHA256> = []
    for plan in plans {
      for resource in plan.put where seen.insert(resource.content.sha256).inserted {
        files.append(resource.file)
      }
    }
    for file in healing.values.sorted(by: { $0.source.location < $1.source.location })
    where seen.insert(file.digest.sha256).inserted { files.append(file) }
    if files.isEmpty { return [] }
    // In their own order, in which the origin finds them side by side.
    let digests = files.map(\.digest.sha256).sorted()
    let lacking = try PublishError.asking { () throws(OriginError) in try api.missing(of: digests) }
    return files.filter { lacking.contains($0.digest.sha256) }
  }

  // For a dry run, too, files are sent: what devices would download is worked out where the older files are. What no release
  // takes is dropped there after a day.
  private func send(_ files: [HashedFile], _ kept: RetainedBytes) throws(PublishError) {
    if files.isEmpty { return }
    let total = files.reduce(0) { $0 + $1.digest.size }
    let progress = self.progress
    try UploadJob.send(files, kept, api) { progress(.sending($0, of: total)) }
  }

  /// One file for each content that the plans bring.
  private static func contents(of plans: [Plan]) -> [SHA256: HashedFile] {
    var files: [SHA256: HashedFile] = [:]
    for plan in plans {
      for resource in plan.put { files[resource.content.sha256] = resource.file }
    }
    return files
  }

  /// Makes the release, sending what the origin finds missing after all: files that it kept for an earlier
  /// attempt are dropped after a day, and a damaged one when it is found.
  func release(
    _ request: ReleaseRequest, _ plans: [Plan], _ channel: ChannelAddress, plan: SHA256?,
    _ kept: RetainedBytes
  ) throws(PublishError) -> OriginAnswer<ReleaseAnswer> {
    progress(.releasing)
    var attempts = 3
    while true {
      do {
        return try PublishError.asking { () throws(OriginError) in
          try api.release(request, plan: plan, in: channel)
        }
      } catch {
        guard case .origin(.refused(let problem)) = error, problem.code == "missing-blobs", attempts > 0
        else {
          throw error
        }
        let files = Publisher.contents(of: plans)
        let missing = problem.missing.compactMap { files[$0] }
        guard !missing.isEmpty else { throw error }
        attempts -= 1
        try send(missing, kept)
      }
    }
  }

  /// Keeps what each bundle now holds, so that the next publish need not ask.
  /// - Parameter entries: of each bundle that was to change, as the cache keeps them.
  private func keep(
    _ answer: ReleaseAnswer, _ local: LocalBundles, _ plans: [Plan], _ entries: [[UInt8]?],
    _ remote: RemoteChannel
  ) {
    for (((source, resources, state), plan), entries) in zip(zip(local.bundles, plans), entries) {
      let isChanged = answer.bundles.contains { $0.bundle == source.name.text && $0.isChanged }
      // What nobody changed, though it was to be, somebody else did.
      guard isChanged || plan.isEmpty else { continue }
      if isChanged, let entries { remote.keep(entries, at: answer.version, as: source.name) }
      guard state.isSettled else { continue }
      remote.keep(
        state, at: isChanged ? answer.version : plan.base, resources: Int64(resources.count),
        bytes: resources.clampedSum(\.content.size), as: source.name)
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
