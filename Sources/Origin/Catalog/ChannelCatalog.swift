import HTTP
import Manifests
import Store

/// A channel's newest manifest and its answers, rendered; a release makes a new one that shares what stayed.
///
/// A class, though it is a value: every poll passes it on, and one reference is cheaper to pass than its parts.
final class ChannelCatalog: Sendable {
  let channel: ChannelInfo
  let map: ManifestMap
  /// Hexadecimal, as a device sends it.
  let digest: [UInt8]
  let nothingNew: CodedDocument
  let documents: ChannelDocuments
  /// The whole manifest, once its codings are made.
  let whole: WholeManifest?
  /// The list of files, once somebody asked for it.
  let info: CodedDocument?

  private let app: [UInt8]
  private let name: [UInt8]

  init(channel: ChannelInfo, map: ManifestMap, documents: ChannelDocuments) {
    self.channel = channel
    self.map = map
    digest = Array((channel.digest ?? ManifestMap.empty.digest).hex.utf8)
    self.documents = documents
    nothingNew = .json(Documents.nothingNew(channel.version, extras: documents.extras))
    app = Array(channel.app.text.utf8)
    name = Array(channel.name.text.utf8)
    whole = nil
    info = nil
  }

  /// What `other` is, with other answers.
  private init(_ other: ChannelCatalog, whole: WholeManifest?, info: CodedDocument?) {
    channel = other.channel
    map = other.map
    digest = other.digest
    nothingNew = other.nothingNew
    documents = other.documents
    app = other.app
    name = other.name
    self.whole = whole
    self.info = info
  }

  var version: ManifestVersion { channel.version }

  /// What every answer says beside its news.
  var extras: AnswerExtras { documents.extras }

  /// The same manifest with other documents; of the answers that name the old ones only the whole manifest is made
  /// again, for which its map needn't be coded.
  func saying(_ documents: ChannelDocuments) -> ChannelCatalog {
    let next = ChannelCatalog(channel: channel, map: map, documents: documents)
    return whole.map { next.adding($0.saying(documents.extras)) } ?? next
  }

  func adding(_ whole: WholeManifest) -> ChannelCatalog {
    guard whole.extras == extras else { return self }
    return ChannelCatalog(self, whole: whole, info: info)
  }

  func adding(info: CodedDocument) -> ChannelCatalog { ChannelCatalog(self, whole: whole, info: info) }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app) && channel.equals(name)
  }
}

/// A channel's documents beside its manifest, rendered, and what every answer says of them.
struct ChannelDocuments: Sendable {
  let extras: AnswerExtras
  let prefetch: CodedDocument
  let policy: CodedDocument

  /// What a channel has before anybody said anything.
  static let none = ChannelDocuments(ChannelExtras())

  init(_ state: ChannelExtras) {
    extras = state.answerExtras
    prefetch = .json(state.prefetchDocument)
    policy = .json(state.policyDocument)
  }
}
