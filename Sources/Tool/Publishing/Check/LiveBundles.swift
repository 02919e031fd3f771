import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import System
import Values

/// The channel's other bundles on the origin, fetched on first use.
final class LiveBundles {
  private let remote: RemoteChannel
  private let names: [BundleName]
  private var known: [(name: BundleName, entries: [RemoteBundle.Entry])]?

  init(_ remote: RemoteChannel, without released: Set<BundleName>) {
    self.remote = remote
    names = (remote.overview?.bundles ?? []).map(\.name).sorted().filter { !released.contains($0) }
  }

  /// Returns the bundles by name, with their entries by URL.
  func bundles() throws(PublishError) -> [(name: BundleName, entries: [RemoteBundle.Entry])] {
    if let known { return known }
    var bundles: [(name: BundleName, entries: [RemoteBundle.Entry])] = []
    for name in names { bundles.append((name, try remote.bundle(name).entries)) }
    known = bundles
    return bundles
  }

  /// Returns the match keys of those `urls` that are in one of the bundles.
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

  /// Returns the match keys of those `urls` that a fallback page of one of the bundles answers.
  func routes(among urls: [ResourceURL]) throws(PublishError) -> Set<String> {
    if urls.isEmpty { return [] }
    var pages: [(url: ResourceURL, ctype: String, fallbacks: PageFallbacks)] = []
    for entry in try bundles().flatMap(\.entries)
    where entry.form.fallbacks != RemoteBundle.Entry.Form.noFallbacks {
      guard let url = try? ResourceURL(entry.url),
        let json = try? JSONValue.parse(Array(entry.form.fallbacks.utf8)),
        let fallbacks = try? PageFallbacks(json: json)
      else { continue }
      pages.append((url, entry.form.ctype, fallbacks))
    }
    let fallbacks = FallbackTable(pages)
    return Set(urls.filter { fallbacks[$0] != nil }.map(\.matchKey))
  }

  /// Returns the pages of the channel's prefetch config; empty if it has none.
  func prefetchPages() throws(PublishError) -> [ResourceURL] {
    guard remote.overview?.prefetch != nil else { return [] }
    let document = try PublishError.asking { () throws(OriginError) in
      try remote.api.prefetch(of: remote.address).value
    }
    return PrefetchConfig(reading: document.config ?? []).pages.map(\.url)
  }

  /// Applies `read` to the bytes of each entry, over several connections, and returns the results in order; nil for an
  /// entry whose bytes the origin doesn't return.
  func map<Value: Sendable>(
    _ entries: [RemoteBundle.Entry], _ read: @escaping @Sendable (Int, [UInt8]) -> Value
  ) throws(PublishError) -> [Value?] {
    if entries.isEmpty { return [] }
    let downloads = try PublishError.asking { () throws(OriginError) in
      try remote.api.manifest(of: remote.address).object ?? JSONObject()
    }
    let wanted = entries.map { ($0, downloads[$0.url]?["download"]?.string) }
    let state = Locked((next: 0, values: [Value?](repeating: nil, count: wanted.count)))
    let api = remote.api
    Parallel.run(threads: min(Self.connections, wanted.count)) {
      while true {
        let index = state.withLock { state in
          defer { state.next += 1 }
          return state.next
        }
        guard index < wanted.count else { return }
        let (entry, download) = wanted[index]
        guard let download, let bytes = api.file(download, limit: Int(entry.size)) else { continue }
        let value = read(index, bytes)
        state.withLock { $0.values[index] = value }
      }
    }
    return state.withLock { $0.values }
  }

  private static let connections = 8
}
