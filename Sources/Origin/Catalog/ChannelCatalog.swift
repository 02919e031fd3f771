import HTTP
import Manifests
import Store

/// A channel as it is now: all that a poll with nothing new needs, and the answers that take more, as far as they are
/// in memory.
///
/// A class, though but for `held` it is a value: every poll passes it on, and one reference is cheaper to pass than its
/// parts.
final class ChannelCatalog: Sendable {
  let channel: ChannelInfo
  /// Hexadecimal, as a device sends it.
  let digest: [UInt8]
  let nothingNew: CodedDocument
  let documents: ChannelDocuments
  /// What every answer says beside its news.
  let extras: AnswerExtras
  let held: ResidentManifest

  private let app: [UInt8]
  private let name: [UInt8]

  /// - Parameter map: its manifest, where that is in memory already.
  init(channel: ChannelInfo, map: ManifestMap? = nil, documents: ChannelDocuments) {
    self.channel = channel
    digest = Array((channel.digest ?? ManifestMap.empty.digest).hex.utf8)
    self.documents = documents
    extras = documents.extras.with(rollback: channel.rollback)
    nothingNew = .json(Documents.nothingNew(channel.version, extras: extras))
    held = ResidentManifest(map)
    app = Array(channel.app.text.utf8)
    name = Array(channel.name.text.utf8)
  }

  var version: ManifestVersion { channel.version }

  /// The same manifest with other documents; of the answers that name the old ones only the whole manifest is made
  /// again, for which its map needn't be coded.
  func with(_ documents: ChannelDocuments) -> ChannelCatalog {
    let next = ChannelCatalog(channel: channel, map: held.map, documents: documents)
    if let whole = held.whole { next.held.keep(whole: whole.with(next.extras)) }
    return next
  }

  /// Whether what is made of `other` is right for this one, too.
  func answers(as other: ChannelCatalog) -> Bool { version == other.version && extras == other.extras }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app) && channel.equals(name)
  }
}

/// A channel's documents beside its manifest, rendered, and what every answer says of them and of its settings.
struct ChannelDocuments: Sendable {
  let extras: AnswerExtras
  let prefetch: CodedDocument
  let policy: CodedDocument

  /// What a channel has before anybody said anything.
  static let none = ChannelDocuments(rendering: ChannelExtras())

  /// Channels of which nothing is said share what says so.
  init(_ state: ChannelExtras) {
    self = state == ChannelExtras() ? Self.none : ChannelDocuments(rendering: state)
  }

  private init(rendering state: ChannelExtras) {
    extras = state.answerExtras
    prefetch = .json(state.prefetchDocument)
    policy = .json(state.policyDocument)
  }
}
