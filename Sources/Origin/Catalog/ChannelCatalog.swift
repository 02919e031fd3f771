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
  /// The whole manifest, once its codings are made.
  private(set) var whole: WholeManifest?
  private(set) var patches = PatchCache()

  private let app: [UInt8]
  private let name: [UInt8]

  init(channel: ChannelInfo, map: ManifestMap) {
    self.channel = channel
    self.map = map
    digest = Array((channel.digest ?? ManifestMap.empty.digest).hex.utf8)
    nothingNew = .json(Documents.nothingNew(channel.version))
    app = Array(channel.app.text.utf8)
    name = Array(channel.name.text.utf8)
  }

  var version: ManifestVersion { channel.version }

  func adding(_ whole: WholeManifest) -> ChannelCatalog {
    var next = self
    next.whole = whole
    return next
  }

  func adding(_ patch: PatchAnswer, from base: ManifestVersion) -> ChannelCatalog {
    var next = self
    next.patches.insert(patch, from: base)
    return next
  }

  func replacing(_ patch: PatchAnswer, from base: ManifestVersion) -> ChannelCatalog {
    var next = self
    next.patches.replace(patch, from: base)
    return next
  }

  func isNamed(app: RawSpan, channel: RawSpan) -> Bool {
    app.equals(self.app.span.bytes) && channel.equals(name.span.bytes)
  }
}
