import HTTPClient
import Manifests

/// The channel's other bundles, as the origin has them; asked for when first needed.
final class LiveBundles {
  private let remote: RemoteChannel
  private let names: [BundleName]
  private var known: [(name: BundleName, entries: [RemoteBundle.Entry])]?
  private var downloads: JSONObject?

  init(_ remote: RemoteChannel, without released: Set<BundleName>) {
    self.remote = remote
    names = remote.state.bundles.keys.sorted().compactMap { try? BundleName($0) }
      .filter { !released.contains($0) }
  }

  /// By name; entries by URL.
  func bundles() throws(PublishError) -> [(name: BundleName, entries: [RemoteBundle.Entry])] {
    if let known { return known }
    var bundles: [(name: BundleName, entries: [RemoteBundle.Entry])] = []
    for name in names { bundles.append((name, try remote.bundle(name).entries)) }
    known = bundles
    return bundles
  }

  /// The match keys of those URLs that one of the bundles holds.
  func keys(of urls: [ResourceURL]) throws(PublishError) -> Set<String> {
    let wanted = Set(urls.map(\.matchKey))
    if wanted.isEmpty { return [] }
    var held: Set<String> = []
    for bundle in try bundles() {
      for entry in bundle.entries {
        guard let key = try? ResourceURL(entry.url).matchKey, wanted.contains(key) else { continue }
        held.insert(key)
      }
    }
    return held
  }

  /// The pages of the channel's prefetch config; none where it has none.
  func prefetchPages() throws(PublishError) -> [ResourceURL] {
    guard remote.state.hasPrefetch else { return [] }
    let document = try remote.api.get("\(remote.path)/prefetch")
    return PrefetchConfig(reading: document["config"] ?? []).pages.map(\.url)
  }

  /// An entry's bytes; nil where the origin doesn't give them.
  func bytes(of entry: RemoteBundle.Entry) throws(PublishError) -> [UInt8]? {
    if downloads == nil {
      downloads = try remote.api.get("\(remote.path)/manifest", limit: 1 << 30).object ?? JSONObject()
    }
    guard let download = downloads?[entry.url]?["download"]?.string else { return nil }
    return remote.api.file(download, limit: Int(entry.size))
  }
}

extension OriginAPI {
  /// What the origin itself gives for a `download`, wherever its public URL leads; nil where it doesn't.
  fileprivate func file(_ download: String, limit: Int) -> [UInt8]? {
    // {space}/{app id}/{manifest version}/{resource version}/{uuid}/{name}
    let path = download.split(separator: "/").suffix(6).joined(separator: "/")
    let request = HTTPRequest("GET", "\(server.text)/\(path)", decodes: true)
    guard let reply = try? http.send(request, into: .memory(limit: limit)), reply.isSuccess else {
      return nil
    }
    return reply.body
  }
}
