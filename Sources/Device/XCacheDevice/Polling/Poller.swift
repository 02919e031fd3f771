import Manifests
import System
import Trust
import Values

/// Polls for a channel's manifest, and builds the next index from the held one and the answer.
struct Poller: Sendable {
  /// What an answer offers.
  struct Offer: Sendable {
    enum Kind: Sendable {
      case same, patch, pack, whole
    }

    let kind: Kind
    /// The newest version that the server knows of.
    let version: ManifestVersion
    let extras: AnswerExtras
    /// Nil if nothing is new, or a pack is offered.
    var index: DeviceIndex?
    /// Deltas over files that the device holds.
    var deltas: [DeltaOffer] = []
    /// If `kind` is `pack`: a pack that starts from the held version.
    var pack: PackAnswer?
    /// If `kind` is `whole`: a pack with most of its files, for a device that holds nothing.
    var first: PackOffer?
    /// The seed of the open rollout, if this is its candidate.
    var candidate: String?
    /// Whether a copy's version is taken though it is lower than the candidate that the device holds.
    var goesBack = false
    /// The statements that came with it: of a pack, whose manifest is checked once it is here.
    var statements: AnswerTrust?
    /// What the check made of `index`.
    var ruling: TrustRuling?
    /// Why nothing is offered: the check that failed, or what kept it from being made.
    var refusal: TrustRefusal?

    fileprivate func with(_ extras: AnswerExtras) -> Offer {
      var offer = Offer(
        kind: kind, version: version, extras: extras, index: index, deltas: deltas, pack: pack)
      (offer.first, offer.candidate, offer.goesBack) = (first, candidate, goesBack)
      (offer.statements, offer.ruling, offer.refusal) = (statements, ruling, refusal)
      return offer
    }
  }

  /// The result of reading a document.
  enum ReadResult {
    case offer(Offer)
    /// A patch that doesn't lead from the held manifest to the digest that it names.
    case otherDigest
    /// A pack that starts from another version, or is invalid.
    case noPack
    /// The answer for the version of a rollout that the device doesn't follow: it offers nothing.
    case other(Offer, isIn: Bool)
    /// An answer that failed the check; `asksForAll` says that the whole manifest may pass.
    case refused(Offer, asksForAll: Bool)
  }

  let transport: any Transport
  let settings: CheckedSettings
  /// Called with the versions of other documents that an answer names, before its manifest is looked at: they count
  /// whatever that is.
  var onDocuments: @Sendable (AnswerExtras) -> Void = { _ in }
  /// Called with the server's time, by its own clock, when an answer that names other documents has come.
  var onServerTime: @Sendable (Int64) -> Void = { _ in }
  /// Where answers with manifests are kept until the device has switched to them; nil to keep none.
  var folder: CacheFolder?
  /// False for a poll beside an update, whose answer stays kept.
  var keepsAnswers = true
  /// Which version of a rollout is followed; nil: the one that is answered.
  var choice: VersionChoice?
  /// Checks manifests, in an app with a root; nil also for a poll whose manifest is left to the next one.
  var gate: TrustGate?

  /// Polls once, and returns the answer.
  ///
  /// - Throws: the errors that count as a failed poll: `noAnswer`, `status`, `unreadable`, `wrongDigest`,
  ///   `unsafeEntry`, `sameName`.
  /// - Parameters:
  ///   - source: the server to poll.
  ///   - held: the manifest that the device holds.
  ///   - takesPacks: false to repeat the request after a pack that couldn't be used.
  ///   - mayTurn: whether the poll may still ask for the other version of a rollout.
  func poll(
    _ source: PollPolicy.Source, holding held: DeviceIndex, takesPacks: Bool = true,
    mayAskForOther: Bool = true
  ) throws(DeviceError) -> Offer {
    let takesPacks = takesPacks && held.version > .none
    switch source {
    case .origin:
      return try pollOrigin(
        holding: held, takesPacks, candidate: choice?.asksForCandidate ?? false,
        mayAskForOther: mayAskForOther)
    case .mirror: return try pollMirror(holding: held, takesPacks)
    }
  }

  private func pollOrigin(
    holding held: DeviceIndex, _ takesPacks: Bool, candidate: Bool, mayAskForOther: Bool
  ) throws(DeviceError) -> Offer {
    let url = settings.originURL(holding: held, takesPacks: takesPacks, asksForCandidate: candidate)
    switch try readOffer(url, from: .origin, holding: held, takesPacks) {
    case .offer(let offer), .refused(let offer, asksForAll: false): return offer
    // "It asks again at most once per poll."
    case .other(let offer, let isIn):
      return mayAskForOther
        ? try pollOrigin(holding: held, takesPacks, candidate: isIn, mayAskForOther: false) : offer
    case .noPack where takesPacks:
      return try pollOrigin(holding: held, false, candidate: candidate, mayAskForOther: mayAskForOther)
    // "a device whose result has another digest asks again for the whole manifest", once.
    case .noPack, .otherDigest:
      let nothing = DeviceIndex.none(settings.hosts)
      return try readWhole(settings.originURL(holding: nothing, asksForCandidate: candidate), from: .origin)
    case .refused(let offer, _):
      return try pollForAll(.origin, of: offer.version, isCandidate: candidate)
    }
  }

  /// Polls a mirror, which is static files: first the small document with the version, then a pack's or a patch,
  /// else the whole manifest.
  private func pollMirror(holding held: DeviceIndex, _ takesPacks: Bool) throws(DeviceError) -> Offer {
    let small = try pollVersion()
    let extras = small.extras
    let candidate = extras.rollout.flatMap { rule in choice?.decide(rule) == true ? rule : nil }
    let goesBack = choice?.goesBack(by: extras.rollout, isIn: candidate != nil) ?? false
    let newest = candidate?.version ?? small.version
    guard newest > held.version || goesBack else { return small }
    if newest == settings.skipped { return small }
    // Only some packs and patches exist, and none to a lower version; the whole manifest always does. The versions of the
    // other documents are those of version.json, and so is the rule: packs and patches are written once and never updated.
    let folders = held.version == .none || goesBack ? [] : takesPacks ? ["update", "patch"] : ["patch"]
    for folder in folders {
      let url = settings.mirrorURL("\(folder)/\(held.version)-\(newest).json")
      guard case .offer(var offer)? = try? readOffer(url, from: .mirror, holding: held),
        candidate == nil || offer.version == newest
      else { continue }
      if !offer.isDecidedByHead { offer.candidate = candidate?.seed }
      return offer.with(extras)
    }
    let url = settings.mirrorURL(candidate == nil ? "configure.json" : "configure/\(newest).json")
    var offer = try readWhole(url, from: .mirror)
    guard candidate == nil || offer.version == newest else {
      throw .unreadable(url: url, reason: "it is version \(offer.version)")
    }
    if !offer.isDecidedByHead { offer.candidate = candidate?.seed }
    offer.goesBack = goesBack
    return offer.with(extras)
  }

  /// Reads the small document of a mirror, which has the newest version and those of the other documents.
  private func pollVersion() throws(DeviceError) -> Offer {
    let url = settings.mirrorURL("version.json")
    guard case .upToDate(let newest, let extras)? = try readAnswer(url, namesDocuments: true)?.answer else {
      throw .unreadable(url: url, reason: "it has a manifest, where only a version belongs")
    }
    return Offer(kind: .same, version: newest, extras: extras)
  }

  /// Polls for what an answer names beside its manifest, which is left to the next update. Throws as `poll` does.
  func pollDocuments(
    _ source: PollPolicy.Source, holding held: DeviceIndex, takesPacks: Bool
  ) throws(DeviceError) -> Offer {
    source == .origin ? try poll(source, holding: held, takesPacks: takesPacks) : try pollVersion()
  }

  private func keepAnswer(_ reply: DocumentReply, from url: String) {
    if keepsAnswers { folder?.keep(reply, from: url) }
  }

  func readWhole(_ url: String, from source: PollPolicy.Source) throws(DeviceError) -> Offer {
    switch try readOffer(url, from: source, holding: .none(settings.hosts)) {
    case .offer(let offer), .other(let offer, _), .refused(let offer, _): return offer
    case .otherDigest, .noPack:
      throw .unreadable(url: url, reason: "it is a patch, and none was asked for")
    }
  }

  /// Reads an answer, and what it offers to a device that holds `held`.
  private func readOffer(
    _ url: String, from source: PollPolicy.Source, holding held: DeviceIndex, _ takesPacks: Bool = false
  ) throws(DeviceError) -> ReadResult {
    guard let (answer, reply) = try readAnswer(url, takesPacks: takesPacks, namesDocuments: source == .origin)
    else {
      return .noPack
    }
    if source == .origin, let choice, let isIn = choice.other(than: answer) {
      let version = answer.version ?? held.version
      return .other(Offer(kind: .same, version: version, extras: answer.extras), isIn: isIn)
    }
    // An origin, or a cache in between, may not know `skip`.
    if let skipped = settings.skipped, answer.version == skipped {
      return .offer(Offer(kind: .same, version: skipped, extras: answer.extras))
    }
    switch answer {
    case .upToDate(let version, let extras):
      return .offer(Offer(kind: .same, version: version, extras: extras))
    case .patch(let answer):
      guard let manifest = try? held.manifest.applying(answer) else { return .otherDigest }
      let offer = try makeOffer(.patch, manifest, answer.digest, answer.extras, answer.deltas, url)
      keepAnswer(reply, from: url)
      return try decide(offer, manifest, answer.trust, url)
    case .pack(let answer):
      guard held.version > .none, answer.base == held.version,
        (try? ResourceURL(answer.pack.download)) != nil
      else { return .noPack }
      var offer = Offer(kind: .pack, version: answer.version, extras: answer.extras, pack: answer)
      offer.candidate = answer.extras.seed(of: answer.version)
      return try decide(offer, answer, url)
    case .whole(let answer):
      let manifest: Manifest
      do {
        manifest = try answer.manifest()
      } catch {
        throw DeviceError(error, of: answer.version, url: url)
      }
      var offer = try makeOffer(.whole, manifest, answer.digest, answer.extras, answer.deltas, url)
      offer.first = answer.first
      keepAnswer(reply, from: url)
      return try decide(offer, manifest, answer.trust, url)
    case .failure(let code, let message):
      throw .status(url: url, code: Int(clamping: code), message: message.isEmpty ? nil : message)
    }
  }

  private func makeOffer(
    _ kind: Offer.Kind, _ manifest: Manifest, _ digest: SHA256, _ extras: AnswerExtras,
    _ deltas: [DeltaOffer], _ url: String
  ) throws(DeviceError) -> Offer {
    do {
      let index = try DeviceIndex(manifest, digest: digest, hosts: settings.hosts)
      var offer = Offer(kind: kind, version: manifest.version, extras: extras, index: index, deltas: deltas)
      offer.candidate = extras.seed(of: manifest.version)
      return offer
    } catch {
      throw DeviceError(error)
    }
  }

  /// Reads an answer; nil if its pack is invalid.
  /// - Parameters:
  ///   - url: the URL of the document.
  ///   - takesPacks: whether any invalid member may be due to a pack.
  ///   - namesDocuments: whether the versions of other documents in it count.
  private func readAnswer(
    _ url: String, takesPacks: Bool = false, namesDocuments: Bool
  ) throws(DeviceError) -> (answer: ConfigureAnswer, reply: DocumentReply)? {
    let report: @Sendable (AnswerExtras) -> Void = { [onDocuments] in if namesDocuments { onDocuments($0) } }
    let fetcher = DocumentFetcher(
      transport: transport, limit: settings.manifestLimit, pace: settings.documentPace)
    let reply = try fetcher.get(url, holding: folder?.keptAnswer(for: url)) { partial in
      report(AnswerExtras.named(in: partial))
    }
    do {
      return (try parse(reply, report), reply)
    } catch .member("pack") {
      return nil
    } catch {
      guard error.isDamage else {
        if takesPacks { return nil }
        throw DeviceError(error, url: url)
      }
    }
    // An origin or a cache stores a coded answer separately, so it may be damaged while the plain one is intact.
    let plain = try fetcher.getUncoded(url) { partial in report(AnswerExtras.named(in: partial)) }
    do {
      return (try parse(plain, report), plain)
    } catch {
      throw DeviceError(error, url: url)
    }
  }

  private func parse(
    _ reply: DocumentReply, _ report: (AnswerExtras) -> Void
  ) throws(JSONError) -> ConfigureAnswer {
    do {
      let answer = try ConfigureAnswer.parse(reply.body)
      // Anything else may answer with a failure, or a page, and have any clock.
      if !answer.isFailure, let time = reply.serverTime { onServerTime(time) }
      report(answer.extras)
      return answer
    } catch {
      report(AnswerExtras.named(in: reply.body))
      throw error
    }
  }
}

extension ConfigureAnswer {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

extension JSONError {
  /// Whether the input isn't JSON at all.
  var isDamage: Bool {
    switch self {
    case .member, .duplicateKey, .tooMany: false
    default: true
    }
  }
}

extension DeviceError {
  init(_ error: JSONError, url: String) {
    let reason =
      switch error {
      case .member(let name): "\"\(name)\" is missing or wrong"
      case .duplicateKey(let key): "it names \"\(key)\" twice"
      case .tooMany: "it has more entries, or larger ones, than a device takes"
      default: "it isn't JSON"
      }
    self = .unreadable(url: url, reason: reason)
  }

  init(_ error: ManifestMismatch, of version: ManifestVersion, url: String) {
    switch error {
    case .digest(let expected, let actual):
      self = .wrongDigest(url: url, version: version.text, expected: expected.hex, computed: actual.hex)
    case .base(let expected, _): self = .unreadable(url: url, reason: "it is a patch for \(expected)")
    case .entry(let entry, _): self = .unreadable(url: url, reason: "it has no valid entry for \(entry)")
    }
  }

  init(_ fault: ManifestFault) {
    switch fault {
    case .unsafe(let url, let download): self = .unsafeEntry(url: url.text, download: download)
    case .sameName(let name, let urls): self = .sameName(name: name, urls: urls.map(\.text))
    }
  }
}
