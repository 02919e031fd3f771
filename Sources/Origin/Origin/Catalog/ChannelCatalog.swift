import HTTP
import Manifests
import Store
import Synchronization

/// A channel's current state: all that a poll with nothing new needs, and other answers as far as they are in memory.
///
/// While a rollout is open, this is the state of the full version, and `candidate` that of the other one.
///
/// A class, though apart from `held` it is a value: every poll passes it on, and passing one reference is cheaper than
/// passing its parts.
final class ChannelCatalog: Sendable {
  let channel: ChannelInfo
  /// In hexadecimal, as sent by devices.
  let digest: [UInt8]
  let nothingNew: CodedDocument
  let documents: ChannelDocuments
  /// What every answer carries besides its news.
  let extras: AnswerExtras
  let held: ResidentManifest
  /// The state that devices in the open rollout follow; nil if none is open.
  let candidate: ChannelCatalog?
  /// Whether this is a candidate's state.
  let isCandidate: Bool
  /// Tells states of a channel with a root apart, which rise: each has answers of its own, with the head and the statements that there
  /// are by then; 0 without a root.
  let trustEdition: Int
  /// The origins of the channel's URLs, while a rollout is open: what pages of others report about it doesn't count.
  let pageOrigins: Set<[UInt8]>

  private static let trustEditions = Atomic<Int>(0)
  private let app: [UInt8]
  private let name: [UInt8]

  /// Creates a channel's state; `map` is the manifest of its newest version, if that is in memory already, and `full` that of the
  /// full version beside an open candidate.
  convenience init(
    channel: ChannelInfo, map: ManifestMap? = nil, full: ManifestMap? = nil, documents: ChannelDocuments,
    pageOrigins: Set<[UInt8]> = []
  ) {
    // A release may have ended the rollout that a config went along with.
    let documents = documents.during(channel.rollout)
    if channel.rollout == nil {
      self.init(one: channel, map, documents, isCandidate: false, candidate: nil, pageOrigins)
    } else {
      let candidate = ChannelCatalog(
        one: channel, map, documents, isCandidate: true, candidate: nil, pageOrigins)
      self.init(one: channel.full, full, documents, isCandidate: false, candidate: candidate, pageOrigins)
    }
  }

  private init(
    one channel: ChannelInfo, _ map: ManifestMap?, _ documents: ChannelDocuments, isCandidate: Bool,
    candidate: ChannelCatalog?, _ pageOrigins: Set<[UInt8]>
  ) {
    self.channel = channel
    self.pageOrigins = pageOrigins
    self.candidate = candidate
    self.isCandidate = isCandidate
    digest = Array((channel.digest ?? ManifestMap.empty.digest).hex.utf8)
    self.documents = documents
    extras = documents.extras.with(rollback: channel.rollback).with(rollout: channel.rollout?.rule)
    trustEdition = extras.root == nil ? 0 : Self.trustEditions.add(1, ordering: .relaxed).newValue
    nothingNew = .json(Documents.nothingNew(channel.version, extras: extras))
    held = ResidentManifest(map)
    app = Array(channel.app.text.utf8)
    name = Array(channel.name.text.utf8)
  }

  var version: ManifestVersion { channel.version }

  /// The state of the newest version, which is the candidate's while a rollout is open.
  var newest: ChannelCatalog { candidate ?? self }

  /// The highest version of the channel.
  var highest: ManifestVersion { channel.rollout?.candidate ?? version }

  /// Both states, or the only one.
  var answered: [ChannelCatalog] { candidate.map { [self, $0] } ?? [self] }

  /// The state from which a poll is answered. If no rollout is open, `candidate=1` changes nothing.
  func answering(_ query: borrowing PollQuery) -> ChannelCatalog {
    query.wantsCandidate ? newest : self
  }

  /// Tells the answers of the full version from those of the candidate, where both are kept.
  var slot: Int64 { isCandidate ? ~channel.id : channel.id }

  /// Returns the same manifests with other documents. Of the answers that carry the old ones, only the whole manifest is
  /// made again, without coding its map again.
  func with(_ documents: ChannelDocuments) -> ChannelCatalog { with(newest.channel, documents) }

  /// Returns the same manifests for another state of the channel, with other rules or documents. A version that isn't answered any
  /// more is left out.
  func with(_ info: ChannelInfo, _ documents: ChannelDocuments) -> ChannelCatalog {
    let next = ChannelCatalog(
      channel: info, map: held(at: info.version)?.map, full: held(at: info.full.version)?.map,
      documents: documents, pageOrigins: pageOrigins)
    for state in next.answered {
      if let held = held(at: state.version) { state.keep(held) }
    }
    return next
  }

  /// What is in memory of one of the two versions.
  func held(at version: ManifestVersion) -> ResidentManifest? {
    answered.first { $0.version == version }?.held
  }

  /// Keeps what is in memory of the same version, with this state's extras. In a channel with a root, the whole manifest is made again
  /// when it is asked for: its head and its statements are in the store.
  func keep(_ other: ResidentManifest) {
    if extras.root != nil {
      if let rendered = other.whole?.map ?? other.rendered { held.keep(rendered: rendered) }
    } else if let whole = other.whole {
      held.keep(whole: whole.with(extras))
    }
    if let info = other.info { held.keep(info: info) }
  }

  /// Whether answers made for `other` are correct for this one, too.
  func answers(as other: ChannelCatalog) -> Bool {
    version == other.version && extras == other.extras && trustEdition == other.trustEdition
  }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app) && channel.equals(name)
  }
}

/// A channel's documents other than its manifest, rendered, and what every answer carries about them and the settings.
struct ChannelDocuments: Sendable {
  let extras: AnswerExtras
  let prefetch: CodedDocument
  let policy: CodedDocument
  /// The prefetch config that goes along with the candidate, and its version; nil if none does.
  let candidatePrefetch: (version: Int64, document: CodedDocument)?

  private init(
    _ other: ChannelDocuments, _ extras: AnswerExtras,
    candidatePrefetch: (version: Int64, document: CodedDocument)?
  ) {
    self.extras = extras
    (prefetch, policy) = (other.prefetch, other.policy)
    self.candidatePrefetch = candidatePrefetch
  }

  /// The documents that there are while this rollout is open.
  func during(_ rollout: Rollout?) -> ChannelDocuments {
    candidatePrefetch == nil || candidatePrefetch?.version == rollout?.prefetch
      ? self : ChannelDocuments(self, extras, candidatePrefetch: nil)
  }

  /// A version of the prefetch config; nil if it is neither the newest nor the one that goes along with the candidate.
  func prefetch(at version: Int64) -> CodedDocument? {
    if let candidatePrefetch, candidatePrefetch.version == version { return candidatePrefetch.document }
    return version == extras.prefetch ?? 0 ? prefetch : nil
  }

  /// The initial documents of a channel.
  static let none = ChannelDocuments(rendering: ChannelExtras())

  /// Channels without documents and settings share one value. `edge` is the policy's `ttl`, which devices learn from every answer.
  init(_ state: ChannelExtras, edge: Int? = nil) {
    let made = state == ChannelExtras() ? Self.none : ChannelDocuments(rendering: state)
    self =
      edge == nil
      ? made
      : ChannelDocuments(made, made.extras.with(edge: edge), candidatePrefetch: made.candidatePrefetch)
  }

  private init(rendering state: ChannelExtras) {
    extras = state.answerExtras
    prefetch = .json(state.prefetchDocument)
    policy = .json(state.policyDocument)
    candidatePrefetch = state.candidateDocument.map { ($0.version, .json($0.bytes)) }
  }
}
