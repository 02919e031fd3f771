import HTTP
import Manifests
import Platform
import Store

/// Answers configure.json (DESIGN §3): nothing new, a patch, or the whole manifest.
///
/// What a fleet asks for is rendered already and answered on the spot. An answer that isn't there yet is made on
/// the worker pool, after which the same decision is taken again.
struct ConfigureEndpoint: Sendable {
  let catalog: Published<Catalog>
  let builder: AnswerBuilder

  func answer(_ channel: ChannelCatalog, _ query: PollQuery, _ request: borrowing Request) -> Answer {
    switch decide(channel, query) {
    case .ready(let document): return .now(document.response(to: request))
    case .needsWhole, .needsPatch:
      let stored = StoredRequest(request)
      let id = channel.channel.id
      return .later { respondLater(id, query, stored) }
    }
  }

  /// The answer to a query, where it is rendered already.
  func document(_ channel: ChannelCatalog, _ query: PollQuery) -> CodedDocument? {
    if case .ready(let document) = decide(channel, query) { document } else { nil }
  }

  private enum Decision {
    case ready(CodedDocument)
    case needsWhole
    case needsPatch(from: ManifestVersion)
  }

  private func decide(_ channel: ChannelCatalog, _ query: PollQuery) -> Decision {
    // Before the first release every device has all there is.
    if channel.version == .none { return .ready(channel.nothingNew) }
    guard case .number(let version) = query.version, version > 0 else { return whole(channel) }
    if version == channel.version.number {
      // A version known with another digest counts as unknown.
      return query.digest.agrees(with: channel.digest) ? .ready(channel.nothingNew) : whole(channel)
    }
    guard query.acceptsPatch, version < channel.version.number else { return whole(channel) }
    guard let patch = channel.patches[version] else { return .needsPatch(from: ManifestVersion(version)) }
    return query.digest.agrees(with: patch.baseDigest) ? .ready(patch.document) : whole(channel)
  }

  private func whole(_ channel: ChannelCatalog) -> Decision {
    channel.whole.map { .ready($0.document) } ?? .needsWhole
  }

  /// Makes what is missing and decides again; a release in between changes what is missing, hence the loop.
  private func respondLater(_ id: Int64, _ query: PollQuery, _ stored: StoredRequest) -> Response {
    var query = query
    for _ in 0..<8 {
      guard let channel = catalog.current.channel(id: id) else { break }
      switch decide(channel, query) {
      case .ready(let document): return document.response(to: stored.request)
      case .needsWhole: builder.prepareWhole(of: id)
      case .needsPatch(let base):
        do {
          if try !builder.preparePatch(of: id, from: base) { query.forgetVersion() }
        } catch {
          return ClientFailure.response(error)
        }
      }
    }
    return ClientFailure.response(
      .serviceUnavailable, "releases come faster than this answer can be made; ask again")
  }
}

extension PollQuery.Name {
  /// Whether a digest that was sent is this one; a device that sends none trusts its version.
  func agrees(with digest: [UInt8]) -> Bool {
    switch self {
    case .absent: true
    case .text(let text): text.bytes.equals(digest.span.bytes)
    case .tooLong: false
    }
  }
}
