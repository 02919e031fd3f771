import Manifests
import OriginAPI
import OriginClient
import System
import Trust
import Values

// Releases that wait for signatures. Who adds one believes nothing that the origin says of the release: what is to be signed has to be
// what the release is carried out with, and another key of the root must have signed the same.
extension Publisher {
  /// Reads a release that waits for signatures, and compares what it is carried out with with what is to be signed.
  ///
  /// - Throws: `awaited`; `trust` if the app's roots aren't right, or the keys that have signed it may not.
  package func awaited(
    _ act: ScheduledInfo, in channel: ChannelAddress, _ options: SigningOptions
  ) throws(PublishError) -> AwaitedRelease {
    guard let trust = try trust(of: channel.app, options), !trust.root.isOff else {
      throw .trust(.noRoot(channel.app))
    }
    let request = try PublishError.asking { () throws(OriginError) in
      try api.scheduledRequest(act.id, of: channel)
    }
    let changes: [AwaitedChange]
    do {
      changes = try (request["bundles"]?.array ?? []).map { json throws(JSONError) in try AwaitedChange(json)
      }
    } catch {
      throw .awaited(.unreadable(act.id, "\(error)"))
    }
    var bundles: [AwaitedRelease.Bundle] = []
    for awaited in act.signatures ?? [] {
      guard let signed = try? Signed<ReleaseStatement>(json: awaited.envelope) else {
        throw .awaited(.unreadable(act.id, "the statement of bundle \(awaited.bundle)"))
      }
      let name = signed.document.bundle
      guard name == awaited.bundle, !bundles.contains(where: { $0.name == name }) else {
        throw .awaited(.otherPlace(awaited.bundle))
      }
      guard let change = changes.first(where: { $0.bundle == name }) else {
        throw .awaited(.otherContent(name))
      }
      let (live, next) = try contents(change, in: channel)
      bundles.append(try bundle(signed, live, next, in: channel, trust))
    }
    var others: [BundleName] = []
    for change in changes where !bundles.contains(where: { $0.name == change.bundle }) {
      let (live, next) = try contents(change, in: channel)
      if live.content != next.content { others.append(change.bundle) }
    }
    return AwaitedRelease(
      id: act.id, channel: channel, root: trust.signedRoot, bundles: bundles, others: others,
      request: request.object ?? JSONObject())
  }

  /// What the origin would answer if a release that waits were made now.
  package enum AwaitedForecast: Sendable {
    /// It would be made: what it would do to an open rollout, and the freeze that would refuse it all the same.
    case made(rollout: RolloutChangeInfo?, freeze: ChannelFreeze?)
    /// It would be refused.
    case refused(Problem)
  }

  /// Asks what a release would do if it were made now; nil if the origin doesn't tell this token. Nothing that is signed depends on it.
  package func forecast(_ release: AwaitedRelease) throws(PublishError) -> AwaitedForecast? {
    var request = release.request
    request["dryRun"] = true
    var call = OriginCall("POST", "\(release.channel.path)/releases")
    call.fields = [("Content-Type", "application/json")]
    call.body = .bytes(JSONValue.object(request).canonical)
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    call.isRepeatable = true
    do {
      let answer = try api.send(call, as: ReleaseAnswer.self).value
      return .made(rollout: answer.rollout, freeze: answer.freeze)
    } catch {
      guard let problem = error.problem else { throw .origin(error) }
      // It is carried out by another token.
      return problem.status == 401 || problem.status == 403 ? nil : .refused(problem)
    }
  }

  /// Checks one statement.
  private func bundle(
    _ signed: Signed<ReleaseStatement>, _ live: LiveBundle, _ next: LiveBundle, in channel: ChannelAddress,
    _ trust: PublisherTrust
  ) throws(PublishError) -> AwaitedRelease.Bundle {
    let (statement, root) = (signed.document, trust.root)
    let name = statement.bundle
    guard statement.app == root.app, statement.app == channel.app, statement.environment == root.environment,
      statement.channels.contains(channel.channel)
    else { throw .awaited(.otherPlace(name)) }
    guard statement.content == next.content else { throw .awaited(.otherContent(name)) }
    let signers = signed.releaseSigners(root)
    guard !signers.isEmpty else { throw .awaited(.unsigned(name, root.number)) }
    let urls = next.items.flatMap(\.places)
    try PublishError.signing { () throws(TrustFault) in
      try trust.check(name, urls: urls, in: statement.channels, by: signers, needsAll: false)
    }
    let held = trust.releases.filter { $0.bundle == name && $0.channels.contains(channel.channel) }
    // What another release has ruled out since can't come back by this one.
    guard statement.serial >= root.floors[name] ?? held.map(\.floor).max() ?? .zero else {
      throw .awaited(.refused(name, .releaseFloor))
    }
    let known = trust.releases.filter { $0.bundle == name }.map(\.serial.number).max() ?? 0
    let latest = max(
      Clock.unixMilliseconds() + Self.clockDifference, known + 1, root.floors[name]?.number ?? 0)
    guard statement.serial.number <= latest else {
      throw .awaited(.serialAhead(name, statement.serial))
    }
    return AwaitedRelease.Bundle(
      statement: signed, next: next, live: live,
      isLiveSigned: live.items.isEmpty || trust.isSigned(live.content, of: name, for: [channel.channel]),
      replacesLater: held.contains { $0.content == live.content && $0.serial > statement.serial },
      signers: signers,
      lacking: trust.lacking(name, urls: urls, in: channel.channel, after: signers))
  }

  /// How far the clocks of two who sign may be apart, in milliseconds: a day.
  private static let clockDifference: Int64 = 86_400_000

  /// Returns what a bundle holds now, and what a change makes of it.
  private func contents(
    _ change: AwaitedChange, in channel: ChannelAddress
  ) throws(PublishError) -> (live: LiveBundle, next: LiveBundle) {
    let name = change.bundle
    let held = try PublishError.asking { () throws(OriginError) in try api.entries(of: name, in: channel) }
    var base = JSONObject()
    if change.base >= held.version, change.base <= held.channelVersion {
      base = held.entries.object ?? base
    } else if change.base != .none {
      // Another release has changed the bundle since.
      let manifest = try PublishError.asking { () throws(OriginError) in
        try api.manifest(change.base.text, of: channel).object ?? JSONObject()
      }
      guard manifest.members.allSatisfy({ $0.value["bundle"] != nil }) else {
        throw .awaited(.baseUnknown(name, change.base))
      }
      base = JSONObject(
        sorted: manifest.members.filter { $0.value["bundle"]?.string == name.text })
    }
    return try PublishError.asking { () throws(OriginError) in
      try api.reading { () throws(JSONError) in
        (
          live: try LiveBundle(name, entries: held.entries),
          next: try LiveBundle(name, entries: .object(change.applied(to: base)))
        )
      }
    }
  }

  /// Compares a release with the builds here: of each bundle, every URL, byte, type and header.
  ///
  /// - Throws: `awaited(.buildDiffers)`, `awaited(.noBuild)` for a bundle without a build, `awaited(.notInRelease)` for a build without a
  ///   bundle.
  package func compare(
    _ release: AwaitedRelease, with sources: [BundleSource], rehash: Bool = false
  ) throws(PublishError) {
    for source in sources where !release.bundles.contains(where: { $0.name == source.name }) {
      throw .awaited(.notInRelease(source.name))
    }
    for bundle in release.bundles where !sources.contains(where: { $0.name == bundle.name }) {
      throw .awaited(.noBuild(bundle.name))
    }
    let unpacked = try UnpackedZips(sources)
    defer { withExtendedLifetime(unpacked) {} }
    let local = try read(FoundFiles(unpacked.bundles, program: program), rehash: rehash)
    defer { for cache in local.caching { cache.value() } }
    for (source, files, _) in local.bundles {
      guard let bundle = release.bundles.first(where: { $0.name == source.name }) else { continue }
      guard BundleContent.digest(of: files) == bundle.statement.document.content else {
        throw .awaited(.buildDiffers(bundle.name, bundle.differences(from: files)))
      }
    }
  }
}

/// What a release does to a bundle, as the origin carries it out.
private struct AwaitedChange {
  let bundle: BundleName
  let base: ManifestVersion
  let set: JSONObject
  let remove: [String]

  init(_ json: JSONValue) throws(JSONError) {
    guard let name = try? BundleName(try json.string("bundle")) else { throw .member("bundle") }
    bundle = name
    if json["unpublish"]?.bool == true {
      (base, set, remove) = (.none, JSONObject(), [])
      return
    }
    base = try json.version("base")
    guard let set = json["set"]?.object else { throw .member("set") }
    guard let remove = json["remove"]?.array?.compactMap(\.string) else { throw .member("remove") }
    (self.set, self.remove) = (set, remove)
  }

  /// Returns a bundle's entries with the change.
  func applied(to base: JSONObject) -> JSONObject {
    // By their bytes: two texts that read the same may be two URLs.
    let removed = Set(remove.map { Array($0.utf8) })
    let kept = base.members.filter { set[$0.key] == nil && !removed.contains(Array($0.key.utf8)) }
    return JSONObject(kept + set.members)
  }
}
