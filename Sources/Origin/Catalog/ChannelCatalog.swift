import HTTP
import Manifests
import Platform
import Store

/// A channel's newest manifest and its answers, rendered; a release makes a new one that shares what stayed.
struct ChannelCatalog: Sendable {
  let channel: ChannelInfo
  let map: ManifestMap
  /// Hexadecimal, as a device sends it.
  let digest: [UInt8]
  let nothingNew: CodedDocument
  let documents: ChannelDocuments
  /// The whole manifest, once its codings are made.
  private(set) var whole: WholeManifest?
  /// The list of files, once somebody asked for it.
  private(set) var info: CodedDocument?
  private(set) var patches = PatchCache()

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
  }

  var version: ManifestVersion { channel.version }

  /// What every answer says beside its news.
  var extras: AnswerExtras { documents.extras }

  /// The same manifest with other documents; answers that name the old ones are dropped.
  func saying(_ documents: ChannelDocuments) -> ChannelCatalog {
    ChannelCatalog(channel: channel, map: map, documents: documents)
  }

  func adding(_ whole: WholeManifest) -> ChannelCatalog {
    guard whole.extras == extras else { return self }
    var next = self
    next.whole = whole
    return next
  }

  func adding(info: CodedDocument) -> ChannelCatalog {
    var next = self
    next.info = info
    return next
  }

  func adding(_ patch: PatchAnswer, from base: ManifestVersion) -> ChannelCatalog {
    guard patch.extras == extras else { return self }
    var next = self
    next.patches.insert(patch, from: base)
    return next
  }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app.span.bytes) && channel.equals(name.span.bytes)
  }
}
