import Manifests
import Trust
import Values

/// Why nothing of an answer is taken.
enum TrustRefusal: Sendable {
  /// It failed a check.
  case check(TrustFailure)
  /// Something that it takes to check it can't be had.
  case fault(DeviceError)
}

/// What a poll adds in an app with a root: manifests are checked before anything of them is fetched.
extension Poller {
  /// Requests the whole manifest of a version whose patch or pack failed the check (T-5). Throws as `poll` does.
  func pollForAll(
    _ source: PollPolicy.Source, of version: ManifestVersion, isCandidate: Bool
  ) throws(DeviceError) -> Offer {
    let url =
      switch source {
      case .origin: settings.originURL(holding: .none(settings.hosts), asksForCandidate: isCandidate)
      case .mirror: settings.mirrorURL(isCandidate ? "configure/\(version).json" : "configure.json")
      }
    return try readWhole(url, from: source)
  }

  /// Has the manifest of an offer checked, before anything of it is fetched.
  func decide(
    _ offer: Offer, _ manifest: Manifest, _ trust: [UInt8]?, _ url: String
  ) throws(DeviceError) -> ReadResult {
    guard let gate, let index = offer.index else { return .offer(offer) }
    let statements = try AnswerTrust(trust, url: url)
    let checked = TrustOffer.Manifest(
      version: manifest.version, digest: index.digest, items: manifest.items)
    return try result(of: offer, statements) { () throws(DeviceError) in
      try gate.decide(checked, statements, root: offer.extras.root)
    }
  }

  /// Has what is known of a pack's manifest checked.
  func decide(
    _ offer: Offer, _ answer: PackAnswer, _ url: String
  ) throws(DeviceError) -> ReadResult {
    guard let gate else { return .offer(offer) }
    let statements = try AnswerTrust(answer.trust, url: url)
    return try result(of: offer, statements) { () throws(DeviceError) in
      try gate.decide(pack: answer, statements)
    }
  }

  /// - Throws: if the poll was cancelled. That the disk fails is no fault of whoever was polled.
  private func result(
    of offer: Offer, _ statements: AnswerTrust, _ decide: () throws(DeviceError) -> TrustGate.Decision
  ) throws(DeviceError) -> ReadResult {
    let decision: TrustGate.Decision
    do throws(DeviceError) {
      decision = try decide()
    } catch {
      if error.isStop { throw error }
      return .refused(offer.refused(.fault(error)), asksForAll: false)
    }
    switch decision {
    case .take(let ruling, let seed):
      var offer = offer
      (offer.ruling, offer.statements) = (ruling, statements)
      if offer.isDecidedByHead { offer.candidate = seed }
      return .offer(offer)
    case .refuse(let failure):
      let asksForAll = offer.kind != .whole && failure.isWorthAskingForAll
      return .refused(offer.refused(.check(failure)), asksForAll: asksForAll)
    case .wait(let error): return .refused(offer.refused(.fault(error)), asksForAll: false)
    case .other(let isIn):
      return .other(offer.refused(nil), isIn: isIn)
    }
  }
}

extension Poller.Offer {
  /// Whether the head has decided if this is the candidate, and no answer's rule does.
  var isDecidedByHead: Bool { ruling.map { !$0.state.root.isOff } ?? false }

  /// The same answer, of which nothing is taken.
  fileprivate func refused(_ refusal: TrustRefusal?) -> Poller.Offer {
    Poller.Offer(kind: .same, version: version, extras: extras, refusal: refusal)
  }
}

extension AnswerTrust {
  /// Reads the member `trust` of an answer, which has none if it isn't there.
  init(_ member: [UInt8]?, url: String) throws(DeviceError) {
    var reader = JSONReader(member ?? [UInt8]("{}".utf8))
    do throws(JSONError) {
      try self.init(reading: &reader)
    } catch {
      throw .unreadable(url: url, reason: "\"trust\" is wrong")
    }
  }
}
