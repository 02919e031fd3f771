import HTTP
import Manifests
import Store

/// Answers configure.json (docs/protocol.md §2): nothing new, a pack, a patch, or the whole manifest.
///
/// What a fleet requests is already rendered and answered immediately. A missing answer is made once, however many clients
/// wait for it, and none of them occupies a worker.
struct ConfigureEndpoint: Sendable {
  let builder: AnswerBuilder
  /// How shared caches keep answers; nil if no cache takes polls.
  let edge: EdgePolicy?

  func answer(_ poll: Poll, _ patches: borrowing PatchCache, _ request: borrowing Request) -> Answer {
    switch decide(poll.channel, poll.query, patches) {
    case .ready(let document, let outcome):
      return .now(shown(document, outcome, to: poll).response(to: request))
    case .needsWhole:
      let stored = StoredRequest(request)
      return .deferred { whole(poll, stored, $0) }
    case .needsPatch(let base):
      let stored = StoredRequest(request)
      return .deferred { patch(poll, from: base, stored, $0) }
    }
  }

  /// Returns the answer to a query if it is already rendered; `shared` is what goes to shared caches.
  func rendered(_ poll: Poll, _ patches: borrowing PatchCache)
    -> (document: CodedDocument, shared: CodedDocument, isPatch: Bool)?
  {
    guard case .ready(let document, let outcome) = decide(poll.channel, poll.query, patches) else {
      return nil
    }
    return (document, shared(document, outcome, poll), poll.query.usesPatches(of: poll.channel))
  }

  private enum Decision {
    case ready(CodedDocument, PollOutcome)
    case needsWhole
    case needsPatch(from: ManifestVersion)
  }

  private func decide(_ channel: ChannelCatalog, _ query: PollQuery, _ patches: borrowing PatchCache)
    -> Decision
  {
    // Before the first release there is nothing that a device could lack.
    if channel.version == .none { return .ready(channel.nothingNew, .nothingNew) }
    if case .number(let version) = query.version, version == channel.version.number {
      // A known version with another digest counts as unknown.
      return query.digest.agrees(with: channel.digest)
        ? .ready(channel.nothingNew, .nothingNew) : whole(channel, .whole)
    }
    // It went back from this version, and has nothing to take until there is a higher one.
    if query.skipped == channel.version.number { return .ready(channel.nothingNew, .nothingNew) }
    guard case .number(let version) = query.version, version > 0, query.acceptsPatch,
      version < channel.version.number
    else { return whole(channel, query.whole(of: channel, patches)) }
    guard let kept = patches.answer(from: version, to: channel) else {
      return .needsPatch(from: ManifestVersion(version))
    }
    guard let patch = kept.patch, query.digest.agrees(with: patch.baseDigest) else {
      return whole(channel, query.whole(of: channel, patches))
    }
    return .ready(patch.document(for: query), .patch)
  }

  private func whole(_ channel: ChannelCatalog, _ outcome: PollOutcome) -> Decision {
    channel.held.whole.map { .ready($0.document, outcome) } ?? .needsWhole
  }

  // MARK: - What shared caches keep

  private func shown(_ document: CodedDocument, _ outcome: PollOutcome, to poll: Poll) -> CodedDocument {
    poll.isShared ? shared(document, outcome, poll) : document
  }

  private func shared(_ document: CodedDocument, _ outcome: PollOutcome, _ poll: Poll) -> CodedDocument {
    guard let edge, poll.query.mayShare(outcome, of: poll.channel) else { return document }
    let tag = EdgeTag(poll.channel.channel.app, poll.channel.channel.name)
    return document.with { edge.fields($0, tag) }
  }

  /// Returns what was made for a poll. If there was a change meanwhile, caches have dropped the channel's answers already, and must not
  /// keep one of before.
  private func made(_ document: CodedDocument, _ outcome: PollOutcome, for poll: Poll) -> CodedDocument {
    guard edge != nil, poll.isShared else { return document }
    let now = builder.catalog.current.successor(of: poll.channel)
    return now?.answers(as: poll.channel) == true ? shared(document, outcome, poll) : document
  }

  // MARK: - What isn't rendered yet

  private func whole(_ poll: Poll, _ stored: StoredRequest, _ answer: @escaping @Sendable (Response) -> Void)
  {
    builder.whole(of: poll.channel) { result in
      switch result {
      case .success(let whole):
        let outcome = poll.query.whole(of: poll.channel, builder.patches.current)
        answer(made(whole.document, outcome, for: poll).response(to: stored.request))
      case .failure(let error): answer(ClientFailure.response(error))
      }
    }
  }

  /// Answers with the patch or, if too many are waiting, with the whole manifest, which is just as correct.
  private func patch(
    _ poll: Poll, from base: ManifestVersion, _ stored: StoredRequest,
    _ answer: @escaping @Sendable (Response) -> Void
  ) {
    let isTaken = builder.patch(to: poll.channel, from: base) { outcome in
      switch outcome {
      case .patch(let patch) where poll.query.digest.agrees(with: patch.baseDigest):
        let document = made(patch.document(for: poll.query), .patch, for: poll)
        answer(document.response(to: stored.request))
      case .patch, .unknownBase: whole(poll, stored, answer)
      case .failed(let error): answer(ClientFailure.response(error))
      }
    }
    if !isTaken { whole(poll, stored, answer) }
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
