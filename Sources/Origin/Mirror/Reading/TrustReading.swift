import Manifests
import Store
import System
import Trust
import Values

/// Checks the documents of a channel in a copy as devices with a root do: docs/protocol.md §14.
struct TrustReading {
  /// What a manifest's document has of signatures.
  struct Answer {
    let name: String
    let manifest: Manifest
    /// The number of the newest root, as the document names it.
    var root: RootNumber?
    /// The member `trust`, as written.
    var trust: [UInt8]?
  }

  private let channel: MirrorIndex.Channel
  private let reader: any MirrorReader
  private let now: TrustTime?
  private let check: TrustCheck<SystemVerifier>
  /// What a device stores that has the newest root, and nothing else.
  private(set) var fresh: TrustState
  /// What a device stores that has read `head.json`, too.
  private var held: TrustState
  private(set) var divergences: [Divergence] = []

  /// Reads the roots and the head.
  ///
  /// - Parameters:
  ///   - builtIn: the root that the app is built with; nil: the first one that the copy has.
  ///   - root: the number of the newest root, as `version.json` names it.
  ///   - head: `head.json`; nil: the copy's.
  ///   - now: milliseconds since 1970.
  /// - Returns: nil if there is no root to begin with, which is a divergence.
  init?(
    _ channel: MirrorIndex.Channel, _ reader: any MirrorReader, builtIn: Signed<TrustRoot>?, root: Int64,
    head: [UInt8]? = nil, now: Int64, _ divergences: inout [Divergence]
  ) throws(MirrorError) {
    self.channel = channel
    self.reader = reader
    self.now = TrustTime(now)
    var first = builtIn
    if first == nil {
      let name = MirrorDocument.root(1).path
      guard let bytes = try Self.read(name, channel, reader, &divergences) else { return nil }
      do throws(TrustFormError) {
        first = try Signed(parsing: bytes)
      } catch {
        divergences.append(Self.divergence(name, .trust(.rootForm, error.description), channel))
        return nil
      }
    }
    guard let first else { return nil }
    check = TrustCheck(
      place: TrustPlace(
        app: channel.app, environment: first.document.environment, channel: channel.channel),
      verifier: SystemVerifier())
    fresh = TrustState(builtIn: first)
    held = fresh
    try readRoots(through: root)
    held = fresh
    if fresh.root.isOff { return }
    var newest = head
    if newest == nil {
      newest = try Self.read(MirrorDocument.head.path, channel, reader, &self.divergences)
    }
    if let newest { take(newest) }
  }

  /// Whether devices check nothing, since the newest root is off.
  var isOff: Bool { fresh.root.isOff }
  /// The newest head that the copy has and devices take.
  var head: TrustHead? { held.head?.head }

  private mutating func readRoots(through last: Int64) throws(MirrorError) {
    guard var next = fresh.root.number.next?.number, next <= last else { return }
    while next <= last {
      let name = MirrorDocument.root(next).path
      guard let bytes = try Self.read(name, channel, reader, &divergences) else { return }
      let verdict = check.check(TrustOffer(roots: [Received(parsing: bytes)]), state: fresh, now: time)
      if let failure = verdict.failure { return add(name, failure) }
      fresh = verdict.state
      next += 1
    }
  }

  private var time: TrustTime { now ?? fresh.head?.head.at ?? TrustTime.first }

  private mutating func take(_ head: [UInt8]) {
    let verdict = check.check(TrustOffer(head: Received(parsing: head)), state: fresh, now: time)
    if let failure = verdict.failure { return add(MirrorDocument.head.path, failure) }
    held = verdict.state
    if verdict.isStale, let until = self.head?.until {
      divergences.append(
        Self.divergence(
          MirrorDocument.head.path, .staleHead(until: until.milliseconds), channel, severity: .warning))
    }
  }

  private static func read(
    _ name: String, _ channel: MirrorIndex.Channel, _ reader: any MirrorReader,
    _ divergences: inout [Divergence]
  ) throws(MirrorError) -> [UInt8]? {
    do throws(MirrorError) {
      if let bytes = try reader.read("\(channel.folder)/\(name)") { return bytes }
      divergences.append(divergence(name, .missing, channel))
    } catch {
      guard let refusal = error.refusal else { throw error }
      divergences.append(divergence(name, refusal, channel))
    }
    return nil
  }

  private static func divergence(
    _ name: String, _ kind: Divergence.Kind, _ channel: MirrorIndex.Channel,
    severity: Divergence.Severity = .error
  ) -> Divergence {
    Divergence(path: "\(channel.folder)/\(name)", kind: kind, severity: severity)
  }

  private mutating func add(_ name: String, _ failure: TrustFailure) {
    divergences.append(Self.divergence(name, .trust(failure, nil), channel))
  }
}

// MARK: - Manifests

extension TrustReading {
  /// Checks the full version, for a device without a head, and for one that has the newest.
  mutating func check(newest answer: Answer) {
    guard let offer = offer(answer) else { return }
    for state in [fresh, held] { judge(offer, state, answer.name) }
  }

  /// Checks the candidate, for a device that has read `head.json`, as it has to before.
  mutating func check(candidate answer: Answer) {
    guard let offer = offer(answer) else { return }
    judge(offer, held, answer.name)
  }

  /// Checks a step from a version to another one.
  ///
  /// - Parameters:
  ///   - answer: the patch or the update, with the manifest that it leads to.
  ///   - base: the member `trust` of the version's own document: the statements under which a device holds it.
  mutating func check(step answer: Answer, from base: [UInt8]?) {
    guard let offer = offer(answer) else { return }
    var state = fresh
    state.take(releases(base))
    judge(offer, state, answer.name)
  }

  private mutating func judge(_ offer: TrustOffer, _ state: TrustState, _ name: String) {
    if let failure = check.check(offer, state: state, now: time).failure { add(name, failure) }
  }

  private mutating func offer(_ answer: Answer) -> TrustOffer? {
    var offer = TrustOffer(rootNumber: answer.root, manifest: TrustOffer.Manifest(answer.manifest))
    guard let bytes = answer.trust else { return offer }
    do throws(JSONError) {
      var reader = JSONReader(bytes)
      let trust = try AnswerTrust(reading: &reader)
      (offer.head, offer.releases) = (trust.head, trust.releases)
      return offer
    } catch {
      divergences.append(
        Self.divergence(answer.name, .document("its member trust can't be read: \(error)"), channel))
      return nil
    }
  }

  /// The statements of a version, as a device holds them.
  private func releases(_ trust: [UInt8]?) -> [BundleName: TrustState.Release] {
    guard let trust else { return [:] }
    var reader = JSONReader(trust)
    guard let answer = try? AnswerTrust(reading: &reader) else { return [:] }
    var releases: [BundleName: TrustState.Release] = [:]
    for signed in answer.releases.compactMap({ try? $0.get() }) {
      let signers = signed.signers(among: fresh.root.keys.keys, keys: fresh.root.keys, by: SystemVerifier())
      releases[signed.document.bundle] = TrustState.Release(statement: signed.document, signers: signers)
    }
    return releases
  }
}

// MARK: - Other documents

extension TrustReading {
  /// Checks the version of the policy.
  mutating func checkPolicy() throws(MirrorError) {
    let name = MirrorDocument.policy(0).path
    guard let data = try data(name), let version = version(data), version > 0 else { return }
    judge(TrustOffer(policy: version), held, name)
  }

  /// Checks a prefetch config: the channel's, or one that goes along with a candidate.
  mutating func checkPrefetch(_ document: MirrorDocument) throws(MirrorError) {
    guard let data = try data(document.path), let version = version(data), version > 0 else { return }
    let config = data["config"] ?? .array([])
    let statement: Received<PrefetchStatement>? = data["trust"].map { Received(json: $0) }
    judge(
      TrustOffer(
        prefetch: TrustOffer.Prefetch(
          version: version, digest: SHA256.of(config.canonical), statement: statement)), held, document.path)
  }

  private mutating func data(_ name: String) throws(MirrorError) -> JSONValue? {
    guard let bytes = try Self.read(name, channel, reader, &divergences) else { return nil }
    guard let data = (try? JSONValue.parse(bytes))?["data"] else {
      divergences.append(Self.divergence(name, .document("it has no \"data\""), channel))
      return nil
    }
    return data
  }

  private func version(_ data: JSONValue) -> Int64? {
    data["version"]?.string.flatMap { ManifestVersion(text: $0)?.number }
  }
}

extension TrustTime {
  fileprivate static var first: TrustTime {
    guard let time = TrustTime(0) else { fatalError("0 is a time") }
    return time
  }
}
