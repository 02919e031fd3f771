import Manifests
import OriginAPI
import OriginClient
import System
import Values

/// Reads a channel's bundles, from the cache and the few changes since.
struct RemoteChannel {
  let api: OriginClient
  private let cache: PublishCache
  let address: ChannelAddress
  /// The origin's overview; nil if the first release will create the channel.
  let overview: ChannelOverview?

  var exists: Bool { overview != nil }

  /// The contents that the origin has lost.
  var damaged: Set<SHA256> { Set(overview?.damaged ?? []) }

  init(_ api: OriginClient, _ cache: PublishCache, _ address: ChannelAddress) throws(PublishError) {
    self.api = api
    self.cache = cache
    self.address = address
    do {
      overview = try api.overview(of: address).value
    } catch {
      guard error.problem?.status == 404 else { throw .origin(error) }
      overview = nil
    }
  }

  /// Returns the current bundle.
  ///
  /// A cached bundle is trusted only if version, number of resources, bytes and the origin's ID match the origin's: the
  /// address may now serve another data folder, or a restored one. Otherwise everything is fetched again.
  func bundle(_ name: BundleName, trustsCache: Bool = true) throws(PublishError) -> RemoteBundle {
    guard let overview else { return .none }
    if trustsCache, let expected = overview.bundles.first(where: { $0.name == name }), let kept = cached(name)
    {
      if kept.agrees(with: expected) { return kept }
      if kept.version < expected.version {
        let (answer, changes) = try entries(name, since: kept.version)
        let start = answer.base == kept.version ? kept : .none
        let now = start.applying(changes, version: answer.version)
        if answer.base == nil || now.agrees(with: expected) { return keep(now, as: name) }
      }
    }
    let (answer, changes) = try entries(name, since: nil)
    return keep(RemoteBundle.none.applying(changes, version: answer.version), as: name)
  }

  private func entries(_ name: BundleName, since: ManifestVersion?) throws(PublishError)
    -> (BundleEntries, [RemoteBundle.Change])
  {
    try PublishError.asking { () throws(OriginError) in
      let answer = try api.entries(of: name, in: address, since: since)
      return (answer, try api.reading { () throws(JSONError) in try RemoteBundle.changes(answer.entries) })
    }
  }

  // MARK: Cache

  private func key(_ name: BundleName) -> String {
    // None of them contains a line break.
    [api.server.text, overview?.origin ?? "", address.app.text, address.channel.text, name.text].joined(
      separator: "\n")
  }

  private func cached(_ name: BundleName) -> RemoteBundle? {
    cache.read(.entries, key(name)).flatMap { RemoteBundle(cached: $0) }
  }

  /// Returns the cache key of a bundle's last seen state, which includes the origin's ID.
  static func stateKey(_ name: BundleName, _ api: OriginClient, _ address: ChannelAddress) -> String {
    [api.server.text, address.app.text, address.channel.text, name.text].joined(separator: "\n")
  }

  /// Caches that the origin has what the folders have.
  func keep(
    _ state: LocalState, at version: ManifestVersion, resources: Int64, bytes: Int64, as name: BundleName
  ) {
    guard let overview else { return }
    let seen = ScanState(
      local: state.sha256, origin: overview.origin, version: version, resources: resources, bytes: bytes)
    try? cache.write(.states, Self.stateKey(name, api, address), seen.cached)
  }

  /// Caches a bundle's content since a release; `entries` come from `RemoteBundle.cachedEntries`.
  func keep(_ entries: [UInt8], at version: ManifestVersion, as name: BundleName) {
    try? cache.write(.entries, key(name), RemoteBundle.cached(entries, at: version))
  }

  /// Caches the current bundle; failing to write the cache only costs time.
  @discardableResult
  func keep(_ bundle: RemoteBundle, as name: BundleName) -> RemoteBundle {
    try? cache.write(.entries, key(name), bundle.cached)
    return bundle
  }
}

extension RemoteBundle {
  fileprivate func agrees(with state: ChannelOverview.Bundle) -> Bool {
    version == state.version && Int64(entries.count) == state.resources && bytes == state.bytes
  }
}
