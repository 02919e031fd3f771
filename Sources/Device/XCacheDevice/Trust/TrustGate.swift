import Manifests
import System
import Trust

/// What stands between the answers of a poll and the device: the check of their manifests, and the decision which of a channel's
/// two versions is followed.
struct TrustGate: Sendable {
  enum Decision: Sendable {
    /// The manifest may be taken.
    /// - Parameter seed: the seed of the rollout of which it is the candidate.
    case take(TrustRuling, seed: String?)
    case refuse(TrustFailure)
    /// The newest head can't be had, without which no candidate is taken.
    case wait(DeviceError)
    /// It may be taken, but the other version is followed.
    case other(isIn: Bool)
  }

  let device: Device
  let trust: DeviceTrust
  /// Who was polled.
  let source: PollPolicy.Source
  let choice: VersionChoice
  /// What the poll has made so far.
  let followed: Locked<FollowedDocuments>

  /// Decides about the manifest that an answer leads to.
  /// - Parameters:
  ///   - manifest: the manifest.
  ///   - answer: the statements that came with it.
  ///   - root: the number of the newest root, as the answer has it.
  func decide(
    _ manifest: TrustOffer.Manifest, _ answer: AnswerTrust, root: Int64?, hasFreshHead: Bool = false
  ) throws(DeviceError) -> Decision {
    try followRoots(to: root)
    let early = try requestHead(for: manifest, answer, root)
    if case .failed(let failure) = early { return refusal(failure) }
    let verdict = try device.check(offer(manifest, answer, root), by: trust)
    if let failure = verdict.failure { return refusal(failure) }
    guard verdict.isCandidate, !hasFreshHead, !early.isPassed else { return follow(verdict, answer) }
    if let decision = try checkNewestHead() { return decision }
    let again = try device.check(TrustOffer(releases: answer.releases, manifest: manifest), by: trust)
    if let failure = again.failure { return refusal(failure) }
    return follow(again, answer)
  }

  /// Decides whether a pack is worth its download: its manifest is known when all of it is here, but version and digest are
  /// known before. What came with the answer isn't stored yet.
  func decide(pack answer: PackAnswer, _ statements: AnswerTrust) throws(DeviceError) -> Decision {
    try followRoots(to: answer.extras.root)
    let manifest = TrustOffer.Manifest(version: answer.version, digest: answer.digest, items: [])
    let early = try requestHead(for: manifest, statements, answer.extras.root)
    if case .failed(let failure) = early { return refusal(failure) }
    let offer = offer(manifest, statements, answer.extras.root)
    let verdict = preview(offer)
    if let failure = verdict.failure { return refusal(failure) }
    guard verdict.isCandidate, !early.isPassed else { return follow(verdict, statements) }
    if let decision = try checkNewestHead() { return decision }
    let again = preview(offer)
    if let failure = again.failure { return refusal(failure) }
    return follow(again, statements)
  }

  private func followRoots(to named: Int64?) throws(DeviceError) {
    device.followRoots(to: named, from: source, followed)
    if let fault = followed.withLock({ $0.rootFault }) { throw fault }
  }

  private func offer(_ manifest: TrustOffer.Manifest, _ answer: AnswerTrust, _ root: Int64?) -> TrustOffer {
    TrustOffer(
      rootNumber: root.flatMap { RootNumber($0) }, head: answer.head, releases: answer.releases,
      manifest: manifest)
  }

  private func preview(_ offer: TrustOffer) -> TrustVerdict {
    trust.preview(offer, holding: HeldManifest(device.index), at: device.trustTime)
  }

  /// What became of a head that was requested before the first check.
  private enum EarlyHead {
    /// None was needed, or none can be had: then the check says what is missing.
    case none
    case passed
    case failed(TrustFailure)

    var isPassed: Bool { if case .passed = self { true } else { false } }
  }

  /// Requests `head.json` for a manifest that came without a head and isn't the stored one's, once per poll: what a copy keeps of a
  /// candidate has none, and without one the first check can't pass.
  private func requestHead(
    for manifest: TrustOffer.Manifest, _ answer: AnswerTrust, _ root: Int64?
  ) throws(DeviceError) -> EarlyHead {
    // Without the newest root, no head helps.
    let hasRoot = root.flatMap { RootNumber($0) }.map { $0 <= trust.root.number } ?? true
    guard answer.head == nil, hasRoot, trust.needsHead(for: manifest),
      followed.withLock({ $0.insertHead() })
    else { return .none }
    let head: Received<TrustHead>
    do throws(DeviceError) {
      head = try device.fetchHead(from: source)
    } catch {
      if error.isStop { throw error }
      return .none
    }
    return try device.check(TrustOffer(head: head), by: trust).failure.map { .failed($0) } ?? .passed
  }

  /// Requests `head.json`, before a candidate is taken (T-9).
  /// - Returns: nil if there is one that passes the check.
  private func checkNewestHead() throws(DeviceError) -> Decision? {
    let head: Received<TrustHead>
    do throws(DeviceError) {
      head = try device.fetchHead(from: source)
    } catch {
      if error.isStop { throw error }
      return .wait(error)
    }
    return try device.check(TrustOffer(head: head), by: trust).failure.map { refusal($0) }
  }

  /// Decides by the head's candidate, whatever rule the answer had: nobody signs that one.
  private func follow(_ verdict: TrustVerdict, _ answer: AnswerTrust) -> Decision {
    let ruling = TrustRuling(
      releases: verdict.releases ?? [:], statements: answer.releases, state: verdict.state)
    // Nothing is signed any more, so that the answer's rule is all there is.
    guard !verdict.state.root.isOff else { return .take(ruling, seed: nil) }
    let rule = verdict.state.head?.head.candidate?.rule
    let isIn = rule.map { choice.decide($0) } ?? false
    guard isIn == verdict.isCandidate else { return .other(isIn: isIn) }
    return .take(ruling, seed: isIn ? rule?.seed : nil)
  }

  /// Of roots that can't be had, the check says no more than that.
  private func refusal(_ failure: TrustFailure) -> Decision {
    .refuse(failure == .rootMissing ? followed.withLock { $0.rootFailure } ?? failure : failure)
  }
}
