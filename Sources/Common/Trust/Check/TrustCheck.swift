import Manifests
import System
import Values

/// The check of everything that a device with a root takes, whoever it comes from: docs/protocol.md §14.
///
/// It is pure: the clock, what is stored, the documents, and who verifies signatures are its arguments. Origin, `publish`
/// and `mirror verify` run the same one, and so refuse what devices would refuse.
package struct TrustCheck<Verifier: SignatureVerifier> {
  /// Where the device belongs.
  package let place: TrustPlace
  private let verifier: Verifier
  /// Checks that are left out: for tests, which have to notice that.
  private let omitted: Set<TrustFailure>

  package init(place: TrustPlace, verifier: Verifier) {
    self.init(place: place, verifier: verifier, omitting: [])
  }

  init(place: TrustPlace, verifier: Verifier, omitting omitted: Set<TrustFailure>) {
    self.place = place
    self.verifier = verifier
    self.omitted = omitted
  }

  /// Checks an offer, in the order of `TrustFailure`.
  ///
  /// - Parameters:
  ///   - offer: what was received.
  ///   - state: what is stored.
  ///   - now: the time, by rule D-101. It changes nothing but `isStale`.
  package func check(_ offer: TrustOffer, state: TrustState, now: TrustTime) -> TrustVerdict {
    var roots = state
    do throws(TrustFailure) {
      try check(roots: offer, &roots)
      // The way out: a publisher has said that nothing is signed any more.
      if roots.root.isOff { return verdict(roots, releases: offer.manifest.map { _ in [:] }, now: now) }
      var state = roots
      let hasOldHead = try check(head: offer, &state)
      var releases: [BundleName: TrustState.Release]?
      var isCandidate = false
      if let manifest = offer.manifest {
        isCandidate = try check(manifest, by: state.head?.head, hasOldHead: hasOldHead)
        releases = try check(bundlesOf: manifest, statements: offer.releases, state)
      }
      if let policy = offer.policy {
        try require(.policyOld, policy >= state.head?.head.policy ?? 0)
      }
      if let prefetch = offer.prefetch { try check(prefetch, &state) }
      return verdict(state, releases: releases, isCandidate: isCandidate, now: now)
    } catch {
      return verdict(roots, failure: error, now: now)
    }
  }

  private func verdict(
    _ state: TrustState, failure: TrustFailure? = nil, releases: [BundleName: TrustState.Release]? = nil,
    isCandidate: Bool = false, now: TrustTime
  ) -> TrustVerdict {
    TrustVerdict(
      failure: failure, state: state, releases: releases, isCandidate: isCandidate,
      isStale: !state.root.isOff && state.head.map { $0.head.until < now } ?? false)
  }

  private func require(_ failure: TrustFailure, _ holds: @autoclosure () -> Bool) throws(TrustFailure) {
    guard omitted.contains(failure) || holds() else { throw failure }
  }

  private func isHere(_ app: AppName, _ environment: TrustEnvironment?) -> Bool {
    app == place.app && environment == place.environment
  }
}

// MARK: - Roots

extension TrustCheck {
  /// Puts the roots that were received in force, one by one: those before a bad one count.
  private func check(roots offer: TrustOffer, _ state: inout TrustState) throws(TrustFailure) {
    for received in offer.roots {
      guard let next = try? received.get() else { throw .rootForm }
      let root = next.document
      try require(.rootApp, isHere(root.app, root.environment))
      try require(.rootNumber, root.number == state.root.number.next)
      try require(.rootOldKeys, isSigned(next, by: state.root.roots, of: state.root))
      try require(.rootNewKeys, isSigned(next, by: root.roots, of: root))
      state.adopt(root)
    }
    try require(.rootMissing, offer.rootNumber.map { $0 <= state.root.number } ?? true)
  }

  private func isSigned(_ next: Signed<TrustRoot>, by group: KeyGroup, of root: TrustRoot) -> Bool {
    group.isMet(by: next.signers(among: group.keys, keys: root.keys, by: verifier))
  }
}

// MARK: - Head

extension TrustCheck {
  /// Stores the head that was received if it is newer.
  ///
  /// - Returns: whether it is older than the one that is held, or as old.
  private func check(head offer: TrustOffer, _ state: inout TrustState) throws(TrustFailure) -> Bool {
    guard let received = offer.head else { return false }
    guard let signed = try? received.get() else { throw .headForm }
    let head = signed.document
    let signers = signed.signers(among: state.root.heads, keys: state.root.keys, by: verifier)
    try require(.headKey, !signers.isEmpty)
    try require(.headPlace, isHere(head.app, head.environment) && head.channel == place.channel)
    if let held = state.head?.head {
      // Documents keep the head of their release, so that an older one is no fault as long as it isn't followed.
      guard head.at > held.at else { return head != held }
      try require(
        .headFell,
        head.version >= held.version && head.policy >= held.policy && head.prefetch >= held.prefetch)
    }
    state.take(TrustState.Head(head: head, signers: signers))
    return false
  }

  /// - Returns: whether the manifest is the candidate.
  private func check(
    _ manifest: TrustOffer.Manifest, by head: TrustHead?, hasOldHead: Bool
  ) throws(TrustFailure) -> Bool {
    guard let head else { throw .headMissing }
    if manifest.version == head.version, manifest.digest == head.digest { return false }
    if let candidate = head.candidate, manifest.version == candidate.rule.version,
      manifest.digest == candidate.digest
    {
      return true
    }
    try require(hasOldHead ? .headOld : .headManifest, false)
    return false
  }
}

// MARK: - Bundles

extension TrustCheck {
  /// The entries of a manifest, by bundle.
  private struct Bundle {
    var content = BundleContent()
    /// What a key must be allowed to sign: the URLs, and the prefixes under which pages are fallbacks.
    var urls: [ResourceURL] = []
  }

  /// - Returns: the statement of each bundle.
  private func check(
    bundlesOf manifest: TrustOffer.Manifest, statements: [Received<ReleaseStatement>], _ state: TrustState
  ) throws(TrustFailure) -> [BundleName: TrustState.Release] {
    let bundles = try bundles(of: manifest)
    let readable = statements.compactMap { try? $0.get() }
    guard readable.count == statements.count else { throw .releaseForm }
    var received: [BundleName: Signed<ReleaseStatement>] = [:]
    for signed in readable {
      let isFirst = received.updateValue(signed, forKey: signed.document.bundle) == nil
      try require(.releaseTwice, isFirst)
    }
    var releases: [BundleName: TrustState.Release] = [:]
    for (name, bundle) in bundles.sorted(by: { $0.key < $1.key }) {
      guard let release = release(of: name, received[name], state) else { throw .releaseMissing }
      try check(release, name, bundle, state)
      releases[name] = release
    }
    return releases
  }

  private func bundles(of manifest: TrustOffer.Manifest) throws(TrustFailure) -> [BundleName: Bundle] {
    var bundles: [Bundle] = []
    var names: [BundleName] = []
    var places: [String: Int] = [:]
    for item in manifest.items {
      guard let text = item.entry.others["bundle"]?.string else { throw .entryBundle }
      let at: Int
      if let known = places[text] {
        at = known
      } else {
        guard let name = try? BundleName(text) else { throw .entryBundle }
        at = bundles.count
        places[text] = at
        names.append(name)
        bundles.append(Bundle())
      }
      bundles[at].content.append(item)
      bundles[at].urls.append(item.url)
      bundles[at].urls += item.entry.fallbacks.prefixes(of: item.url)
    }
    return Dictionary(uniqueKeysWithValues: zip(names, bundles))
  }

  /// The statement that was received, or else the one under which the bundle is held.
  private func release(
    of name: BundleName, _ received: Signed<ReleaseStatement>?, _ state: TrustState
  ) -> TrustState.Release? {
    guard let received else { return state.releases[name] }
    let signers = received.signers(among: state.root.releaseKeys, keys: state.root.keys, by: verifier)
    return TrustState.Release(statement: received.document, signers: signers)
  }

  private func check(
    _ release: TrustState.Release, _ name: BundleName, _ bundle: Bundle, _ state: TrustState
  ) throws(TrustFailure) {
    let statement = release.statement
    try require(
      .releasePlace,
      isHere(statement.app, statement.environment) && statement.channels.contains(place.channel))
    try require(.releaseContent, bundle.content.digest() == statement.content)
    // A held statement is judged by the root in force, too: what a key signed that is no longer listed doesn't count.
    let grants = state.root.grants.filter { $0.signers.isMet(by: release.signers) }
    try require(.releaseKey, !grants.isEmpty)
    try require(
      .releaseScope,
      grants.contains { $0.covers(name, in: place.channel) && bundle.urls.allSatisfy($0.covers) })
    try require(.releaseFloor, statement.serial >= state.floor(of: name))
  }
}

// MARK: - Prefetch configs

extension TrustCheck {
  private func check(_ offer: TrustOffer.Prefetch, _ state: inout TrustState) throws(TrustFailure) {
    guard let received = offer.statement else { throw .prefetchMissing }
    guard let signed = try? received.get() else { throw .prefetchForm }
    let statement = signed.document
    try require(
      .prefetchPlace,
      isHere(statement.app, statement.environment) && statement.channels.contains(place.channel))
    try require(.prefetchContent, statement.content == offer.digest)
    try require(
      .prefetchKey,
      !signed.signers(among: state.root.prefetch, keys: state.root.keys, by: verifier).isEmpty)
    try require(.prefetchFloor, statement.serial >= state.prefetchFloor)
    try require(.prefetchOld, offer.version >= state.head?.head.prefetch ?? 0)
    state.take(statement)
  }
}
