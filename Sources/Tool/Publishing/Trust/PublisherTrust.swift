import Manifests
import OriginAPI
import System
import Trust
import Values

/// What an app's root in force allows, and what was signed before: as the origin has it, and as it is found valid here.
struct PublisherTrust {
  /// The root in force, as it was signed.
  let signedRoot: Signed<TrustRoot>
  var root: TrustRoot { signedRoot.document }
  /// The release statements that enough keys of the root have signed, of any channel.
  let releases: [ReleaseStatement]
  private let prefetch: [PrefetchStatement]
  /// The app's channels.
  let channels: [ChannelName]
  /// The serials of the statements of each channel's full version, and of its prefetch config.
  private var full: [ChannelName: [BundleName: Serial]] = [:]
  private var fullPrefetch: [ChannelName: Serial] = [:]

  /// - Parameters:
  ///   - overview: what the origin has.
  ///   - builtIn: the root that the app is built with; nil: its first one, which has to be signed by its own keys.
  init(_ overview: TrustOverview, builtIn: RootFile? = nil) throws(TrustFault) {
    let signedRoot = try Self.root(overview, builtIn)
    let root = signedRoot.document
    var (releases, prefetch): ([ReleaseStatement], [PrefetchStatement]) = ([], [])
    for channel in overview.channels {
      for envelope in channel.bundles.compactMap(\.envelope) {
        guard let statement = Self.release(envelope, root) else { continue }
        releases.append(statement)
        full[channel.channel, default: [:]][statement.bundle] = statement.serial
      }
      releases += channel.candidate.compactMap(\.envelope).compactMap { Self.release($0, root) }
      if let statement = channel.prefetch?.envelope.flatMap({ Self.prefetch($0, root) }) {
        prefetch.append(statement)
        fullPrefetch[channel.channel] = statement.serial
      }
    }
    channels = overview.channels.map(\.channel)
    self.signedRoot = signedRoot
    self.releases = releases
    self.prefetch = prefetch
  }

  // MARK: - The root in force

  private static func root(_ overview: TrustOverview, _ builtIn: RootFile?) throws(TrustFault) -> Signed<
    TrustRoot
  > {
    let chain: RootChain
    do throws(CeremonyError) {
      let anchor = if let builtIn { builtIn } else { try first(overview) }
      chain = try RootChain(
        from: anchor, through: overview.roots.map { ($0.number, $0.envelope) })
    } catch {
      throw .roots(overview.app, error)
    }
    guard chain.newest.document.app == overview.app else { throw .otherApp(overview.app) }
    return chain.newest
  }

  /// Returns the app's first root, as the origin has it. Nothing comes before it but its own keys.
  private static func first(_ overview: TrustOverview) throws(CeremonyError) -> RootFile {
    let place = "the origin's first root"
    guard let first = overview.roots.first else { throw .unreadable(path: place, "there is none") }
    let signed: Signed<TrustRoot>
    do throws(TrustFormError) {
      signed = try Signed(json: first.envelope)
    } catch {
      throw .notARoot(path: place, error)
    }
    let failure = signed.document.number == .first ? RootChain.failure(ofFirst: signed) : .rootNumber
    if let failure { throw .brokenChain(signed.document.number, path: place, failure) }
    return RootFile(path: place, signed: signed)
  }

  // MARK: - What was signed before

  private static func release(_ envelope: JSONValue, _ root: TrustRoot) -> ReleaseStatement? {
    guard let signed = try? Signed<ReleaseStatement>(json: envelope), signed.document.app == root.app,
      signed.document.environment == root.environment
    else { return nil }
    let signers = signed.releaseSigners(root)
    let isValid = root.grants.contains { grant in
      grant.signers.isMet(by: signers)
        && signed.document.channels.contains { grant.covers(signed.document.bundle, in: $0) }
    }
    return isValid ? signed.document : nil
  }

  private static func prefetch(_ envelope: JSONValue, _ root: TrustRoot) -> PrefetchStatement? {
    guard let signed = try? Signed<PrefetchStatement>(json: envelope), signed.document.app == root.app,
      signed.document.environment == root.environment,
      !signed.signers(among: root.prefetch, keys: root.keys, by: SystemVerifier()).isEmpty
    else { return nil }
    return signed.document
  }

  /// Whether a valid statement signs this content of a bundle, for all of these channels.
  func isSigned(_ content: SHA256, of bundle: BundleName, for channels: Set<ChannelName> = []) -> Bool {
    releases.contains {
      $0.bundle == bundle && $0.content == content && channels.isSubset(of: $0.channels)
    }
  }

  /// The same for a prefetch config.
  func isSigned(prefetch content: SHA256) -> Bool { prefetch.contains { $0.content == content } }

  // MARK: - What is signed next

  /// Returns the statement of a bundle that is to be signed.
  ///
  /// Its serial is above that of every valid statement. What a key has signed that is no longer valid doesn't count, or else who
  /// stole it could use up the serials.
  ///
  /// - Parameter vouched: the content that a valid statement signs, of which this one is to be a copy for another channel: it is
  ///   as old as that. An origin that shows files of before a fix gets no newer statement for them.
  func statement(
    of bundle: BundleName, _ content: SHA256, in channel: ChannelName, _ options: SigningOptions,
    vouched: SHA256? = nil, now: Int64
  ) throws(TrustFault) -> ReleaseStatement {
    let known = releases.filter { $0.bundle == bundle }
    let (lowest, named) = (root.floors[bundle] ?? .zero, root.floors[bundle] ?? .highest)
    let next =
      if let vouched, let old = known.filter({ $0.content == vouched }).map(\.serial).max() {
        // Of two statements of a content, devices get the one with the higher serial: not the one whose floor splits the rollout.
        max(above(bundle, vouched, in: channel, options) ?? old, old, lowest)
      } else {
        Serial(max(now, lowest.number, (known.map(\.serial.number).max() ?? -1) + 1))
      }
    guard let serial = next else { throw .noSerialLeft("bundle \(bundle)") }
    // A device that is new keeps what was ruled out before, too, unless a root has lowered the floor since. In a rollout, it has to be
    // able to go back.
    let limit = min(named, options.isRollout ? full[channel]?[bundle] ?? .highest : .highest)
    let kept = known.filter { $0.channels.contains(channel) && $0.floor <= limit }.map(\.floor).max() ?? .zero
    do {
      return try ReleaseStatement(
        app: root.app, environment: root.environment, bundle: bundle,
        channels: options.channels.union([channel]), content: content, serial: serial,
        floor: options.raisesFloor ? serial : min(kept, serial))
    } catch {
      throw .form(error)
    }
  }

  /// Returns a serial above that of every statement of a content that splits a rollout: one which devices of the channel would get, and
  /// whose floor is above what its full version was signed with, so that they couldn't go back. Nil if there is none, or no rollout.
  func above(
    _ bundle: BundleName, _ content: SHA256, in channel: ChannelName, _ options: SigningOptions
  ) -> Serial? {
    guard options.isRollout, let serial = full[channel]?[bundle] else { return nil }
    let splitting = releases.filter {
      $0.bundle == bundle && $0.content == content && $0.channels.contains(channel) && $0.floor > serial
    }
    return splitting.map(\.serial).max().flatMap { Serial($0.number + 1) }
  }

  /// Returns the statement of a prefetch config that is to be signed.
  func prefetchStatement(
    _ content: SHA256, in channel: ChannelName, _ options: SigningOptions, now: Int64
  ) throws(TrustFault) -> PrefetchStatement {
    let (lowest, named) = (root.prefetchFloor ?? .zero, root.prefetchFloor ?? .highest)
    guard let serial = Serial(max(now, lowest.number, (prefetch.map(\.serial.number).max() ?? -1) + 1)) else {
      throw .noSerialLeft("the prefetch config")
    }
    let limit = min(named, options.isRollout ? fullPrefetch[channel] ?? .highest : .highest)
    let kept =
      prefetch.filter { $0.channels.contains(channel) && $0.floor <= limit }.map(\.floor).max() ?? .zero
    do {
      return try PrefetchStatement(
        app: root.app, environment: root.environment, channels: options.channels.union([channel]),
        content: content, serial: serial, floor: options.raisesFloor ? serial : kept)
    } catch {
      throw .form(error)
    }
  }

  // MARK: - Who may sign

  /// Checks that devices in all these channels would take what these keys sign.
  /// - Throws: `unlisted`, `outOfScope`, `urlsOutOfScope`; with `needsAll` also `tooFewSignatures`.
  func check(
    _ bundle: BundleName, urls: [ResourceURL], in channels: [ChannelName], by keys: [KeyID],
    needsAll: Bool = true
  ) throws(TrustFault) {
    guard let key = keys.first else { return }
    let grants = root.grants.filter { grant in keys.contains { grant.signers.keys.contains($0) } }
    guard !grants.isEmpty else { throw .unlisted(key, root.number, what: "release") }
    for channel in channels {
      let here = grants.filter { $0.covers(bundle, in: channel) }
      guard !here.isEmpty else { throw .outOfScope(key, bundle, channel, root.number) }
      let left = here.map { grant in urls.filter { !grant.covers($0) } }
      let whole = zip(here, left).filter { $0.1.isEmpty }.map(\.0.signers)
      guard !whole.isEmpty else {
        let fewest = left.min { $0.count < $1.count } ?? []
        throw .urlsOutOfScope(key, bundle, fewest.map(\.text), root.number)
      }
      if !needsAll || whole.contains(where: { $0.isMet(by: keys) }) { continue }
      let nearest = whole.map { group in (group, group.keys.count { keys.contains($0) }) }
        .min { $0.0.threshold - $0.1 < $1.0.threshold - $1.1 }
      throw .tooFewSignatures(
        bundle, channel, has: nearest?.1 ?? 0, needed: nearest?.0.threshold ?? 1)
    }
  }
}

extension Signed<ReleaseStatement> {
  /// The keys of the root that sign releases and have signed it.
  func releaseSigners(_ root: TrustRoot) -> [KeyID] {
    signers(
      among: Set(root.grants.flatMap(\.signers.keys)), keys: root.keys, by: SystemVerifier())
  }
}
