import HTTP
import Manifests
import Platform
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
  let patches: PatchCache

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
    patches = PatchCache()
  }

  /// What `other` is, with other answers.
  private init(_ other: ChannelCatalog, whole: WholeManifest?, info: CodedDocument?, patches: PatchCache) {
    channel = other.channel
    map = other.map
    digest = other.digest
    nothingNew = other.nothingNew
    documents = other.documents
    app = other.app
    name = other.name
    self.whole = whole
    self.info = info
    self.patches = patches
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
    return ChannelCatalog(self, whole: whole, info: info, patches: patches)
  }

  func adding(info: CodedDocument) -> ChannelCatalog {
    ChannelCatalog(self, whole: whole, info: info, patches: patches)
  }

  func adding(_ patch: PatchAnswer, from base: ManifestVersion) -> ChannelCatalog {
    guard patch.extras == extras else { return self }
    var patches = patches
    patches.insert(patch, from: base)
    return ChannelCatalog(self, whole: whole, info: info, patches: patches)
  }

  func replacing(_ patch: PatchAnswer, from base: ManifestVersion) -> ChannelCatalog {
    var patches = patches
    patches.replace(patch, from: base)
    return ChannelCatalog(self, whole: whole, info: info, patches: patches)
  }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app) && channel.equals(name)
  }
}
