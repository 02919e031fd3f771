import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import System

// Publishing unchanged folders: each file's status is read, but nothing is mapped, hashed or compared.
extension Publisher {
  /// Releases folders that haven't changed since the origin was last seen to have the same content. Returns nil if they have,
  /// or if the origin has different content now.
  func publishUnchanged(
    _ found: FoundFiles, to channel: ChannelAddress, _ options: PublishOptions
  ) throws(PublishError) -> PublishResult? {
    var seen: [ScanState] = []
    for (bundle, local) in zip(found.bundles, found.states) {
      let key = RemoteChannel.stateKey(bundle.source.name, api, channel)
      guard local.isSettled, let state = cache.read(.states, key).flatMap({ ScanState(cached: $0) }),
        state.local == local.sha256
      else { return nil }
      seen.append(state)
    }
    let remote = try RemoteChannel(api, cache, channel)
    guard let overview = remote.overview, remote.damaged.isEmpty else { return nil }
    for (bundle, state) in zip(found.bundles, seen) {
      guard state.origin == overview.origin,
        let held = overview.bundles.first(where: { $0.name == bundle.source.name }),
        held.version == state.version, held.resources == state.resources, held.bytes == state.bytes
      else { return nil }
    }
    let plans = zip(found.bundles, seen).map { bundle, state in
      Plan(unchanged: bundle.source.name, base: state.version, resources: Int(state.resources))
    }
    let idle = Finding.all(found.bundles.flatMap(\.idle)).filter(options.check.wants)
    let result = try releaseUnchanged(plans, seen, idle, channel, options, newest: overview.version)
    if result != nil { tellWaiting(plans.map(\.bundle), remote) }
    return result
  }

  /// Problems that a full publish solves: it makes a new plan, and sends what is missing.
  private static let leadsToWholeWay: Set<String> = [
    "unknown-base", "other-version", "missing-blobs", "unsigned",
  ]

  private func releaseUnchanged(
    _ plans: [Plan], _ seen: [ScanState], _ idle: [Finding], _ channel: ChannelAddress,
    _ options: PublishOptions, newest: ManifestVersion
  ) throws(PublishError) -> PublishResult? {
    var terms = options.release
    // If somebody is changing a bundle right now, this release undoes that, which has its cost.
    if options.maxUpdate != nil { terms.replaces = newest }
    let request = ReleaseRequest(changes: plans.map(\.change), options: terms)
    let answer: OriginAnswer<ReleaseAnswer>
    do {
      answer = try release(request, plans, channel, plan: nil, RetainedBytes())
    } catch .origin(.refused(let problem)) where Self.leadsToWholeWay.contains(problem.code) {
      return nil
    }
    var afterwards: PublishError?
    if options.waitsForDeltas, options.release.dryRun != true {
      do { try waitForDeltas(channel) } catch { afterwards = error }
    }
    var check: CheckReport?
    if !options.check.isOff, !idle.isEmpty {
      check = CheckReport()
      check?.add(idle)
    }
    return PublishResult(
      release: answer, plans: plans, files: seen.reduce(0) { $0 + Int($1.resources) }, filesRead: 0,
      bytes: seen.clampedSum(\.bytes), uploaded: 0, uploadedBytes: 0, bytesSent: api.bytesSent, check: check,
      preparation: nil, afterwards: afterwards, hasNoLimit: false, sendsFiles: options.sendsFiles)
  }
}
