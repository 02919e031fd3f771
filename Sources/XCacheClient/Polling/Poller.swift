import Manifests
import System

/// Asks for a channel's manifest and makes the next index of what is held and what is answered.
struct Poller: Sendable {
  /// What an answer leads to.
  struct Offer: Sendable {
    enum Kind: Sendable {
      case same, patch, whole
    }

    let kind: Kind
    /// The newest version that the answerer knows of.
    let version: ManifestVersion
    let extras: AnswerExtras
    /// Nil where nothing is new.
    let index: DeviceIndex?
    /// Deltas on what the device holds.
    var deltas: [DeltaOffer] = []

    fileprivate func saying(_ extras: AnswerExtras) -> Offer {
      Offer(kind: kind, version: version, extras: extras, index: index, deltas: deltas)
    }
  }

  let transport: any Transport
  let settings: CheckedSettings

  /// The answer to one poll.
  ///
  /// - Throws: what counts as a failed poll: `noAnswer`, `status`, `unreadable`, `wrongDigest`, `unsafeEntry`,
  ///   `sameName`.
  func ask(_ source: PollPolicy.Source, holding held: DeviceIndex) throws(ClientError) -> Offer {
    switch source {
    case .origin: try askOrigin(holding: held)
    case .mirror: try askMirror(holding: held)
    }
  }

  private func askOrigin(holding held: DeviceIndex) throws(ClientError) -> Offer {
    if let offer = try offer(settings.originURL(holding: held), holding: held) { return offer }
    // "a device whose result has another digest asks again without `version`", once.
    return try whole(settings.originURL(holding: .none))
  }

  /// A mirror is files: the small "nothing new" document first, then a patch, else the whole manifest.
  private func askMirror(holding held: DeviceIndex) throws(ClientError) -> Offer {
    let url = settings.mirrorURL("version.json")
    guard case .upToDate(let newest, let extras) = try read(url) else {
      throw .unreadable(url: url, reason: "it has a manifest, where only a version belongs")
    }
    guard newest > held.version else {
      return Offer(kind: .same, version: newest, extras: extras, index: nil)
    }
    let patch = settings.mirrorURL("patch/\(held.version)-\(newest).json")
    // Only some patches are there; the whole manifest always is.
    // The numbers of the other documents are those of version.json: patches are written once, and stay.
    if held.version > .none, let offer = try? offer(patch, holding: held) { return offer.saying(extras) }
    return try whole(settings.mirrorURL("configure.json")).saying(extras)
  }

  private func whole(_ url: String) throws(ClientError) -> Offer {
    guard let offer = try offer(url, holding: .none) else {
      throw .unreadable(url: url, reason: "it is a patch, and none was asked for")
    }
    return offer
  }

  /// Nil where the answer is a patch that doesn't lead from what is held to the digest it names.
  private func offer(_ url: String, holding held: DeviceIndex) throws(ClientError) -> Offer? {
    switch try read(url) {
    case .upToDate(let version, let extras):
      return Offer(kind: .same, version: version, extras: extras, index: nil)
    case .patch(let answer):
      guard let manifest = try? held.manifest.applying(answer) else { return nil }
      return try offer(.patch, manifest, answer.digest, answer.extras, answer.deltas, url)
    case .whole(let answer):
      let manifest: Manifest
      do {
        manifest = try answer.manifest()
      } catch {
        throw ClientError(error, of: answer.version, url: url)
      }
      return try offer(.whole, manifest, answer.digest, answer.extras, answer.deltas, url)
    case .pack: throw .unreadable(url: url, reason: "it names a pack, and none was asked for")
    case .failure(let code, let message):
      throw .status(url: url, code: Int(clamping: code), message: message.isEmpty ? nil : message)
    }
  }

  private func offer(
    _ kind: Offer.Kind, _ manifest: Manifest, _ digest: SHA256, _ extras: AnswerExtras,
    _ deltas: [DeltaOffer],
    _ url: String
  ) throws(ClientError) -> Offer {
    do {
      let index = try DeviceIndex(manifest, digest: digest)
      return Offer(kind: kind, version: manifest.version, extras: extras, index: index, deltas: deltas)
    } catch {
      throw ClientError(error)
    }
  }

  private func read(_ url: String) throws(ClientError) -> ConfigureAnswer {
    let bytes = try document(url)
    do {
      return try ConfigureAnswer.parse(bytes)
    } catch {
      guard error.isDamage else { throw ClientError(error, url: url) }
    }
    // A coded answer is kept by itself at the origin or a cache, and may be damaged where the plain one is whole.
    let plain = try document(url, isUncoded: true)
    do {
      return try ConfigureAnswer.parse(plain)
    } catch {
      throw ClientError(error, url: url)
    }
  }

  /// A document; where it breaks off, or can't be decoded, it is asked for once more without a coding.
  func document(_ url: String, limit: Int64? = nil) throws(ClientError) -> [UInt8] {
    var hasBegun = false
    do {
      return try document(url, limit: limit, isUncoded: false) { hasBegun = true }
    } catch .noAnswer(_, let error) where error.kind == .other || error.kind == .broken && hasBegun {
      return try document(url, limit: limit, isUncoded: true)
    }
  }

  private func document(
    _ url: String, limit: Int64? = nil, isUncoded: Bool, begun: () -> Void = {}
  ) throws(ClientError) -> [UInt8] {
    var body: [UInt8] = []
    let reply: TransportReply
    do {
      let ask = TransportRequest(url, limit: limit ?? settings.manifestLimit, isUncoded: isUncoded)
      reply = try transport.get(ask) { bytes in
        begun()
        bytes.withUnsafeBytes { body.append(contentsOf: $0) }
        return true
      }
    } catch {
      throw .noAnswer(url: url, error)
    }
    guard reply.status == 200 else {
      let message = (try? JSONValue.parse(reply.failure))?["message"]?.string
      throw .status(url: url, code: reply.status, message: message)
    }
    return body
  }
}

extension JSONError {
  /// Whether it isn't JSON at all.
  fileprivate var isDamage: Bool {
    switch self {
    case .member, .duplicateKey: false
    default: true
    }
  }
}

extension ClientError {
  init(_ error: JSONError, url: String) {
    let reason =
      switch error {
      case .member(let name): "\"\(name)\" is missing or wrong"
      case .duplicateKey(let key): "it names \"\(key)\" twice"
      default: "it isn't JSON"
      }
    self = .unreadable(url: url, reason: reason)
  }

  init(_ error: ManifestMismatch, of version: ManifestVersion, url: String) {
    switch error {
    case .digest(let expected, let actual):
      self = .wrongDigest(url: url, version: version.text, expected: expected.hex, computed: actual.hex)
    case .base(let expected, _): self = .unreadable(url: url, reason: "it is a patch for \(expected)")
    case .entry(let entry, _): self = .unreadable(url: url, reason: "it has no right entry for \(entry)")
    }
  }

  init(_ fault: ManifestFault) {
    switch fault {
    case .unsafe(let url, let download): self = .unsafeEntry(url: url.text, download: download)
    case .sameName(let name, let urls): self = .sameName(name: name, urls: urls.map(\.text))
    }
  }
}
