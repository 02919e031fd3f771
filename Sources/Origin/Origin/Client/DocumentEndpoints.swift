import HTTP
import Manifests
import Store

/// Answers configure.json (docs/protocol.md §2): nothing new, a pack, a patch, or the whole manifest.
///
/// What a fleet requests is already rendered and answered immediately. A missing answer is made once, however many clients
/// wait for it, and none of them occupies a worker.
struct ConfigureEndpoint: Sendable {
  let builder: AnswerBuilder

  func answer(
    _ channel: ChannelCatalog, _ query: PollQuery, _ patches: borrowing PatchCache,
    _ request: borrowing Request
  ) -> Answer {
    switch decide(channel, query, patches) {
    case .ready(let document, _): return .now(document.response(to: request))
    case .needsWhole:
      let stored = StoredRequest(request)
      return .deferred { whole(channel, stored, $0) }
    case .needsPatch(let base):
      let stored = StoredRequest(request)
      return .deferred { patch(channel, from: base, query, stored, $0) }
    }
  }

  /// Returns the answer to a query if it is already rendered.
  func document(_ channel: ChannelCatalog, _ query: PollQuery, _ patches: borrowing PatchCache)
    -> (document: CodedDocument, isPatch: Bool)?
  {
    if case .ready(let document, let isPatch) = decide(channel, query, patches) {
      (document, isPatch)
    } else {
      nil
    }
  }

  private enum Decision {
    case ready(CodedDocument, isPatch: Bool = false)
    case needsWhole
    case needsPatch(from: ManifestVersion)
  }

  private func decide(_ channel: ChannelCatalog, _ query: PollQuery, _ patches: borrowing PatchCache)
    -> Decision
  {
    // Before the first release there is nothing that a device could lack.
    if channel.version == .none { return .ready(channel.nothingNew) }
    if case .number(let version) = query.version, version == channel.version.number {
      // A known version with another digest counts as unknown.
      return query.digest.agrees(with: channel.digest) ? .ready(channel.nothingNew) : whole(channel)
    }
    // It went back from this version, and has nothing to take until there is a higher one.
    if query.skipped == channel.version.number { return .ready(channel.nothingNew) }
    guard case .number(let version) = query.version, version > 0, query.acceptsPatch,
      version < channel.version.number
    else { return whole(channel) }
    guard let kept = patches.answer(from: version, to: channel) else {
      return .needsPatch(from: ManifestVersion(version))
    }
    guard let patch = kept.patch, query.digest.agrees(with: patch.baseDigest) else { return whole(channel) }
    return .ready(patch.document(for: query), isPatch: true)
  }

  private func whole(_ channel: ChannelCatalog) -> Decision {
    channel.held.whole.map { .ready($0.document) } ?? .needsWhole
  }

  // MARK: - What isn't rendered yet

  private func whole(
    _ channel: ChannelCatalog, _ stored: StoredRequest, _ answer: @escaping @Sendable (Response) -> Void
  ) {
    builder.whole(of: channel) { made in
      switch made {
      case .success(let whole): answer(whole.document.response(to: stored.request))
      case .failure(let error): answer(ClientFailure.response(error))
      }
    }
  }

  /// Answers with the patch or, if too many are waiting, with the whole manifest, which is just as correct.
  private func patch(
    _ channel: ChannelCatalog, from base: ManifestVersion, _ query: PollQuery, _ stored: StoredRequest,
    _ answer: @escaping @Sendable (Response) -> Void
  ) {
    let isTaken = builder.patch(to: channel, from: base) { outcome in
      switch outcome {
      case .patch(let patch) where query.digest.agrees(with: patch.baseDigest):
        answer(patch.document(for: query).response(to: stored.request))
      case .patch, .unknownBase: whole(channel, stored, answer)
      case .failed(let error): answer(ClientFailure.response(error))
      }
    }
    if !isTaken { whole(channel, stored, answer) }
  }
}

extension PollQuery.Name {
  /// Whether this is the digest; a device that sends none trusts its version.
  func agrees(with digest: [UInt8]) -> Bool {
    switch self {
    case .absent: true
    case .text(let text): text.bytes.equals(digest.span.bytes)
    case .tooLong: false
    }
  }
}

/// Answers info.json (docs/protocol.md §9): the URLs of the newest manifest, for clients that only know file lists.
struct InfoEndpoint: Sendable {
  let builder: AnswerBuilder

  func answer(_ channel: ChannelCatalog, _ request: borrowing Request) -> Answer {
    if let info = channel.held.info { return .now(info.response(to: request)) }
    let stored = StoredRequest(request)
    return .deferred { answer in
      builder.info(of: channel) { made in
        switch made {
        case .success(let info): answer(info.response(to: stored.request))
        case .failure(let error): answer(ClientFailure.response(error))
        }
      }
    }
  }
}
