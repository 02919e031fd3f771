import Manifests
import Platform

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
    /// Seconds between polls that the operator asks for.
    let interval: Int64?
    /// Nil where nothing is new.
    let index: DeviceIndex?
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
    let url = settings.originURL(holding: held)
    if let offer = try offer(url, holding: held) { return offer }
    // "a device whose result has another digest asks again without `version`", once.
    let plain = settings.originURL(holding: .none)
    guard let offer = try offer(plain, holding: .none) else {
      throw .unreadable(url: plain, reason: "it is a patch, and none was asked for")
    }
    return offer
  }

  /// A mirror is files: the small "nothing new" document first, then a patch, else the whole manifest.
  private func askMirror(holding held: DeviceIndex) throws(ClientError) -> Offer {
    let newest = try read(settings.mirrorURL("version.json"))
    guard newest.version > held.version else {
      return Offer(kind: .same, version: newest.version, interval: newest.interval, index: nil)
    }
    if held.version > .none,
      let patched = try? offer(
        settings.mirrorURL("patch/\(held.version)-\(newest.version).json"), holding: held)
    {
      return patched
    }
    let url = settings.mirrorURL("configure.json")
    guard let offer = try offer(url, holding: .none) else {
      throw .unreadable(url: url, reason: "it is a patch, and none was asked for")
    }
    return offer
  }

  /// Nil where the answer is a patch that doesn't lead from what is held to the digest it names.
  private func offer(_ url: String, holding held: DeviceIndex) throws(ClientError) -> Offer? {
    let answer = try read(url)
    func offer(_ kind: Offer.Kind, _ index: DeviceIndex?) -> Offer {
      Offer(kind: kind, version: answer.version, interval: answer.interval, index: index)
    }
    switch answer.content {
    case .upToDate:
      return offer(.same, nil)
    case .patch(let base, let digest, let changes):
      guard base == held.version else { return nil }
      let index = try reading(url) { () throws(ManifestFault) in
        try DeviceIndex(version: answer.version, patching: held, with: changes)
      }
      return index.digest.hex == digest ? offer(.patch, index) : nil
    case .whole(let digest, let map):
      let index = try reading(url) { () throws(ManifestFault) in
        try DeviceIndex(version: answer.version, map: map)
      }
      guard index.digest.hex == digest else {
        throw .wrongDigest(
          url: url, version: answer.version.text, expected: digest, computed: index.digest.hex)
      }
      return offer(.whole, index)
    }
  }

  private func reading(
    _ url: String, _ index: () throws(ManifestFault) -> DeviceIndex
  ) throws(ClientError) -> DeviceIndex {
    do {
      return try index()
    } catch {
      throw ClientError(error, url: url)
    }
  }

  private func read(_ url: String) throws(ClientError) -> PollAnswer {
    let bytes = try document(url)
    do {
      return try PollAnswer(bytes)
    } catch {
      throw ClientError(error, url: url)
    }
  }

  private func document(_ url: String) throws(ClientError) -> [UInt8] {
    var body: [UInt8] = []
    let reply: TransportReply
    do {
      reply = try transport.get(TransportRequest(url, limit: settings.manifestLimit)) { bytes in
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
