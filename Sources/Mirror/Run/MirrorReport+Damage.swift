import Manifests
import Store

extension MirrorReport {
  /// Notes a channel that stays as it was, and where its damaged files are listed now.
  mutating func note(_ files: [MirroredResource], of state: ChannelState, _ source: any MirrorSource)
    throws(MirrorError)
  {
    stopped.append(state.name)
    let digests = Set(files.map(\.sha256))
    damaged = Set(damaged).union(digests).sorted { $0.hex < $1.hex }
    if digests.isEmpty { return }
    let bundles = try Self.bundles(state, source)
    for item in try Self.items(state, source) where digests.contains(item.entry.sha256) {
      let url = item.url.description
      damagedURLs.append(
        DamagedURL(
          sha256: item.entry.sha256, app: state.app.text, channel: state.channel.text,
          bundle: bundles[url] ?? "unknown", url: url))
    }
  }

  /// The bundle of each URL in the newest release.
  private static func bundles(_ state: ChannelState, _ source: any MirrorSource) throws(MirrorError)
    -> [String: String]
  {
    let bytes = try source.document(.release(state.version), of: state)
    var bundles: [String: String] = [:]
    for bundle in (try? JSONValue.parse(bytes))?["bundles"]?.array ?? [] {
      for url in bundle["urls"]?.array ?? [] {
        if let url = url.string { bundles[url] = bundle["name"]?.string }
      }
    }
    return bundles
  }

  private static func items(_ state: ChannelState, _ source: any MirrorSource) throws(MirrorError)
    -> [ManifestItem]
  {
    let document = MirrorDocument.whole(state.version)
    let bytes = try source.document(document, of: state)
    guard case .whole(let whole)? = try? ConfigureAnswer.parse(bytes), let manifest = try? whole.manifest()
    else { throw .unreadable(path: document.path, reason: "it isn't the manifest it should be") }
    return manifest.items
  }
}
