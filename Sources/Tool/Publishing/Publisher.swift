import BuildCheck
import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import System

/// Publishes folders and zips: scans, maps and hashes them, compares with the origin, sends what it lacks, and releases.
package struct Publisher: Sendable {
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
    if !options.rehash, !options.signing.isDemanding, options.sourceMaps == nil,
      let result = try publishUnchanged(found, to: channel, options)
    {
      return result
    }
    let local = try read(found, rehash: options.rehash)
    defer { for cache in local.caching { cache.value() } }
    let sourceMaps = try pairSourceMaps(options.sourceMaps, local)
    do {
      return try plan(local, sourceMaps, channel, options, trustsCache: !options.rehash).run()
    } catch {
      // The cached version is one that this origin has forgotten, or never had.
      guard !options.rehash, case .origin(.refused(let problem)) = error, problem.code == "unknown-base"
      else {
        throw error.namingPurged(local)
      }
      return try plan(local, sourceMaps, channel, options, trustsCache: false).run()
    }
  }

  /// Compares the local files with what the channel has.
  private func plan(
    _ local: LocalBundles, _ sourceMaps: SourceMapPairing?, _ channel: ChannelAddress,
    _ options: PublishOptions, trustsCache: Bool
  ) throws(PublishError) -> Publication {
    let remote = try RemoteChannel(api, cache, channel)
    try Self.checkNames(local.bundles.map(\.source.name), remote, options)
    let plans = try plans(local, remote, options, trustsCache: trustsCache)
    let signing = try signing(local, remote, plans, options)
    tellWaiting(plans.map(\.bundle), remote, signing)
    return Publication(
      publisher: self, local: local, remote: remote, plans: plans, signing: signing, options: options,
      sourceMaps: sourceMaps)
  }

  /// Throws if a publish would be refused before its files are sent: by the build's check, or by the origin in a dry run.
  /// - Throws: `PublishError`, as `publish` does.
  package func rehearse(
    _ bundles: [BundleSource], to channel: ChannelAddress, _ options: PublishOptions
  ) throws(PublishError) {
    var rehearsal = PublishOptions(options.release)
    (rehearsal.release.dryRun, rehearsal.release.schedule) = (true, nil)
    rehearsal.check = options.check
    rehearsal.creates = options.creates
    rehearsal.allowsNoPages = options.allowsNoPages
    rehearsal.typedNames = options.typedNames
    rehearsal.sendsFiles = false
    rehearsal.signing = options.signing
    rehearsal.sourceMaps = options.sourceMaps
    let freeze = try publish(bundles, to: channel, rehearsal).answer.freeze
    if options.release.dryRun != true, options.release.schedule == nil, let freeze {
      throw .origin(.refused(Problem(freeze, channel)))
    }
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
      if let dropped = DroppedSettings(plan.bundle, bundle.resources, live: held) {
        progress(.settingsDropped(dropped))
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

  // MARK: Origin

  // Dry runs send files, too: the origin determines what devices would download, since it has the older files. It drops files
  // that no release uses after a day.
  func send(_ files: [HashedFile], _ kept: RetainedBytes) throws(PublishError) {
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
}
