import BuildCheck
import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import System

/// The options of a publish.
package struct PublishOptions: Sendable {
  /// The options of the release itself.
  package var release: ReleaseOptions
  /// The most bytes that an update from the replaced version may cost a device; else the release is refused. A channel's
  /// first release replaces none.
  package var maxUpdate: Int64?
  /// Whether to wait until the deltas from older versions are made.
  package var waitsForDeltas = false
  package var check = CheckOptions.all
  /// Whether a channel, or its app, that doesn't exist is created; else the release is refused.
  package var creates = true
  /// Whether a bundle may lose all its pages; else such a release is refused.
  package var allowsNoPages = false
  /// Bundles that are created only if `creates`, or if the channel has no other: their names may be misspelt.
  package var typedNames: Set<BundleName> = []
  /// Whether to read every file and fetch all entries, ignoring the caches.
  package var rehash = false
  /// Whether to send the files that the origin lacks; a dry run can go without, and reports less then.
  package var sendsFiles = true

  package init(_ release: ReleaseOptions = ReleaseOptions()) { self.release = release }
}

/// Publishes folders and zips: scans, maps and hashes them, compares with the origin, sends what it lacks, and releases.
package struct Publisher: Sendable {
  /// The progress of a publish.
  package enum Progress: Hashable, Sendable {
    /// Files whose digests are known, out of all, and the bytes read for that.
    case hashing(done: Int, of: Int, bytes: Int64)
    /// Checking the build.
    case checking
    /// The release brings files of a kind that the live bundle has none of; reported before any file is sent.
    case newKind(NewKind)
    /// The release removes this many addresses of folders, of which this is one, though their `index.html` stays: perhaps
    /// `--index` was dropped. Reported before any file is sent.
    case indexDropped(BundleName, folders: Int, url: String)
    /// The number and size of the files that the origin lacks, which are sent next; reported once, if there are any.
    case lacking(files: Int, bytes: Int64)
    /// Bytes sent, out of those that the origin lacks; failed attempts can make it more.
    case sending(Int64, of: Int64)
    /// The origin makes deltas from what devices have: files done, out of all new ones.
    case preparing(done: Int64, of: Int64)
    /// Everything is sent; the origin makes the release.
    case releasing
    /// The release is visible; deltas from older versions are being made.
    case waitingForDeltas(left: Int64)

    /// Whether it is something to know about the release, and not how far it has come.
    package var isRemark: Bool {
      switch self {
      case .newKind, .indexDropped: true
      default: false
      }
    }
  }

  let api: OriginClient
  let cache: PublishCache
  /// The publishing program's name and version.
  let program: String
  let progress: @Sendable (Progress) -> Void

  /// Creates a publisher.
  ///
  /// - Parameters:
  ///   - api: The origin.
  ///   - cache: The cache of earlier publishes.
  ///   - program: The publishing program's name and version; another one's cached scan results aren't used.
  ///   - progress: Called often, from any thread, one call at a time for each kind.
  package init(
    _ api: OriginClient, cache: PublishCache, program: String = "",
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.api = api
    self.cache = cache
    self.program = program
    self.progress = progress
  }

  /// Publishes all `bundles` as one release.
  /// - Throws: `PublishError`; the origin is then unchanged, except for files that it keeps for the next attempt.
  package func publish(
    _ bundles: [BundleSource], to channel: ChannelAddress, _ options: PublishOptions = PublishOptions()
  ) throws(PublishError) -> PublishResult {
    let unpacked = try UnpackedZips(bundles)
    // Keeps its folders until the last file is sent.
    defer { withExtendedLifetime(unpacked) {} }
    let found = try FoundFiles(unpacked.bundles, program: program)
    if !options.rehash, let result = try publishUnchanged(found, to: channel, options) { return result }
    let local = try resources(of: found, rehash: options.rehash)
    defer { for cache in local.caching { try? cache.value() } }
    do {
      return try publish(local, to: channel, options, trustsCache: !options.rehash)
    } catch {
      // The cached version is one that this origin has forgotten, or never had.
      guard !options.rehash, case .origin(.refused(let problem)) = error, problem.code == "unknown-base"
      else {
        throw error.namingPurged(local)
      }
      return try publish(local, to: channel, options, trustsCache: false)
    }
  }

  private func publish(
    _ local: LocalBundles, to channel: ChannelAddress, _ options: PublishOptions, trustsCache: Bool
  ) throws(PublishError) -> PublishResult {
    let remote = try RemoteChannel(api, cache, channel)
    try Self.checkNames(local.bundles.map(\.source.name), remote, options)
    let plans = try self.plans(local, remote, options, trustsCache: trustsCache)
    let checking = Beside { () throws(PublishError) in try check(local, plans, remote, options.check) }
    let healing = local.files(of: remote.damaged)
    let isDryRun = options.release.dryRun == true
    // Whoever wants every file read here wants that at the origin, too.
    let asked = Result { () throws(PublishError) in
      try missing(plans, healing, checking: options.rehash ? local : nil)
    }
    // Fail before anything is sent.
    let found = try checking.value()
    var release = options.release
    // If the channel exists, there is nothing to create, and older origins don't know the member.
    release.create = remote.exists || options.creates ? nil : false
    release.allowSecrets = found.flatMap { $0.allowedSecrets.isEmpty ? nil : $0.allowedSecrets.map(\.text) }
    let request = ReleaseRequest(changes: plans.map(\.change), options: release)
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
    // Encodes the bundles' cache entries while the origin makes the release.
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
    if !isDryRun, answer.value.scheduled == nil {
      // If this release created the channel, the origin's ID isn't known yet.
      let remote = remote.exists ? remote : try? RemoteChannel(api, cache, channel)
      if let remote { keep(answer.value, local, plans, kept, remote) }
    }
    var afterwards: PublishError?
    if answer.value.scheduled != nil { preparation = nil }
    do {
      preparation = try finish(preparation, channel, options.release)
      if options.waitsForDeltas, !isDryRun { try waitForDeltas(channel) }
    } catch {
      // The release stands, even if the origin can't be asked about it any more, e.g. after a restart.
      if isDryRun { throw error }
      afterwards = error
      if !error.isAboutOlderVersions { preparation = nil }
    }
    return PublishResult(
      answer, plans, local, uploads, check: found, preparation: preparation, afterwards: afterwards,
      bytesSent: api.bytesSent,
      hasNoLimit: options.maxUpdate != nil && preparation?.value.cost.isFirst == true)
  }

  /// Refuses a bundle that the channel doesn't have, before it becomes a second one by a misspelt name.
  private static func checkNames(
    _ names: [BundleName], _ remote: RemoteChannel, _ options: PublishOptions
  ) throws(PublishError) {
    guard !options.creates, let overview = remote.overview else { return }
    let known = overview.bundles.map(\.name)
    let isNew = { (name: BundleName) in options.typedNames.contains(name) && !known.contains(name) }
    guard !known.isEmpty, let name = names.first(where: isNew) else { return }
    throw .newBundle(name, remote.address, others: overview.bundles.filter { $0.resources > 0 }.map(\.name))
  }

  /// Returns the plan of each bundle.
  /// - Throws: `noPageStays`, besides the errors of asking the origin.
  private func plans(
    _ local: LocalBundles, _ remote: RemoteChannel, _ options: PublishOptions, trustsCache: Bool
  ) throws(PublishError) -> [Plan] {
    var plans: [Plan] = []
    for bundle in local.bundles {
      let held = try remote.bundle(bundle.source.name, trustsCache: trustsCache)
      let plan = Plan(bundle.source.name, local: bundle.resources, remote: held)
      plans.append(plan)
      for kind in NewKind.kinds(of: bundle.source.name, bundle.resources, live: held) {
        progress(.newKind(kind))
      }
      let folders = plan.foldersWithoutIndex(local: bundle.resources)
      if let first = folders.first {
        progress(.indexDropped(plan.bundle, folders: folders.count, url: first))
      }
      if !options.allowsNoPages,
        let pages = plan.pagesIfNoneStays(live: held, elsewhere: local.urls(without: plan.bundle))
      {
        throw .noPageStays(plan.bundle, pages: pages.count, url: pages[0])
      }
    }
    return plans
  }

  /// Makes one release that removes whole bundles.
  package func unpublish(
    _ bundles: [BundleName], from channel: ChannelAddress, _ options: ReleaseOptions = ReleaseOptions()
  ) throws(PublishError) -> OriginAnswer<ReleaseAnswer> {
    try release(
      ReleaseRequest(changes: bundles.map { .unpublish($0) }, options: options), [], channel, plan: nil,
      RetainedBytes())
  }

  // MARK: Local files

  /// The local files: the resources of each bundle by URL, and how many files were read.
  struct LocalBundles {
    var bundles: [(source: BundleSource, resources: [BuildFile], state: LocalState)] = []
    var filesRead = 0
    /// Patterns that match nothing.
    var idle: [BundleSource.WrittenPattern] = []
    /// The bytes of small files that were read.
    let kept = RetainedBytes()
    /// The cache writes in progress.
    var caching: [Beside<Void>] = []

    /// The URLs of all bundles but one.
    func urls(without bundle: BundleName) -> Set<String> {
      Set(bundles.filter { $0.source.name != bundle }.flatMap { $0.resources.map(\.url.text) })
    }

    var bytes: Int64 { bundles.reduce(0) { $0 + $1.resources.reduce(0) { $0 + $1.content.size } } }

    /// Returns one local file for each of `contents` that is here.
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

  /// Returns the digests of `files`, using the cache of the bundle's folders.
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
      // Failing to write the cache only costs time.
      if records != kept { try? cache.write(.hashes, key, records) }
    }
    return (hashed.files, hashed.read, caching)
  }

  // MARK: Origin

  /// Returns the files of the plans, and of those that the origin lost, that it lacks; of all files if it is to check them.
  private func missing(
    _ plans: [Plan], _ healing: [SHA256: HashedFile], checking local: LocalBundles? = nil
  ) throws(PublishError) -> [HashedFile] {
    // By URL, so that the files of a folder stay together; each content once.
    var files: [HashedFile] = []
    var seen: Set<SHA256> = []
    for plan in plans {
      for resource in plan.put where seen.insert(resource.content.sha256).inserted {
        files.append(resource.file)
      }
    }
    for file in healing.values.sorted(by: { $0.source.location < $1.source.location })
    where seen.insert(file.digest.sha256).inserted { files.append(file) }
    for resource in local?.bundles.flatMap(\.resources) ?? []
    where seen.insert(resource.content.sha256).inserted { files.append(resource.file) }
    if files.isEmpty { return [] }
    // Sorted, as the origin stores them, so that its look-ups are adjacent.
    let digests = files.map(\.digest.sha256).sorted()
    let lacking = try PublishError.asking { () throws(OriginError) in
      try api.missing(of: digests, check: local != nil)
    }
    return files.filter { lacking.contains($0.digest.sha256) }
  }

  // Dry runs send files, too: the origin determines what devices would download, since it has the older files. It drops files
  // that no release uses after a day.
  private func send(_ files: [HashedFile], _ kept: RetainedBytes) throws(PublishError) {
    if files.isEmpty { return }
    let total = files.reduce(0) { $0 + $1.digest.size }
    let progress = self.progress
    try UploadJob.send(files, kept, api) { progress(.sending($0, of: total)) }
  }

  /// Returns one file for each content that the plans add.
  private static func contents(of plans: [Plan]) -> [SHA256: HashedFile] {
    var files: [SHA256: HashedFile] = [:]
    for plan in plans {
      for resource in plan.put { files[resource.content.sha256] = resource.file }
    }
    return files
  }

  /// Makes the release, and sends what the origin then reports as missing: it drops files of an earlier attempt after a
  /// day, and damaged ones when it finds them.
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

  /// Caches the new content of each bundle, so that the next publish needn't ask. `entries` are the encoded entries of each
  /// bundle that was to change.
  private func keep(
    _ answer: ReleaseAnswer, _ local: LocalBundles, _ plans: [Plan], _ entries: [[UInt8]?],
    _ remote: RemoteChannel
  ) {
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
}

extension RemoteBundle.Entry {
  init(_ resource: BuildFile) {
    self.init(
      url: resource.url.text, form: Form(resource.content), md5: resource.content.md5,
      sha256: resource.content.sha256, size: resource.content.size)
  }
}
