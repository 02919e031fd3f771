import HTTP
import Manifests
import Store

/// A channel's current state: all that a poll with nothing new needs, and other answers as far as they are in memory.
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

  private let app: [UInt8]
  private let name: [UInt8]

  /// Creates a channel's state; `map` is its manifest, if that is in memory already.
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

  /// Returns the same manifest with other documents. Of the answers that carry the old ones, only the whole manifest is
  /// made again, without coding its map again.
  func with(_ documents: ChannelDocuments) -> ChannelCatalog {
    let next = ChannelCatalog(channel: channel, map: held.map, documents: documents)
    if let whole = held.whole { next.held.keep(whole: whole.with(next.extras)) }
    return next
  }

  /// Whether answers made for `other` are correct for this one, too.
  func answers(as other: ChannelCatalog) -> Bool { version == other.version && extras == other.extras }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app) && channel.equals(name)
  }
}

/// A channel's documents other than its manifest, rendered, and what every answer carries about them and the settings.
struct ChannelDocuments: Sendable {
  let extras: AnswerExtras
  let prefetch: CodedDocument
  let policy: CodedDocument

  /// The initial documents of a channel.
  static let none = ChannelDocuments(rendering: ChannelExtras())

  /// Channels without documents and settings share one value.
  init(_ state: ChannelExtras) {
    self = state == ChannelExtras() ? Self.none : ChannelDocuments(rendering: state)
  }

  private init(rendering state: ChannelExtras) {
    extras = state.answerExtras
    prefetch = .json(state.prefetchDocument)
    policy = .json(state.policyDocument)
  }
}
