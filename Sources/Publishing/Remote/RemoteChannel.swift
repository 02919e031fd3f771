import Manifests
import OriginAPI
import System

/// Reads what a channel's bundles hold, from the cache and the little that changed since.
struct RemoteChannel {
  let api: OriginClient
  private let cache: PublishCache
  let address: ChannelAddress
  /// What the origin says of it; nil where the first release will make the channel.
  let overview: ChannelOverview?

  var exists: Bool { overview != nil }

  /// Bytes that the origin had and lost.
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

  /// The bundle as it is now.
  ///
  /// What was kept is trusted only where version, number of resources and bytes, and the origin's id,
  /// are what the origin says: another data folder may answer at the address, or a restored one. Else all is
  /// asked for anew.
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
    // A line break is in none of them.
    [api.server.text, overview?.origin ?? "", address.app.text, address.channel.text, name.text].joined(
      separator: "\n")
  }

  private func cached(_ name: BundleName) -> RemoteBundle? {
    cache.read(.entries, key(name)).flatMap { RemoteBundle(cached: $0) }
  }

  /// Where what was last seen of a bundle is kept; the origin's id is in it.
  static func stateKey(_ name: BundleName, _ api: OriginClient, _ address: ChannelAddress) -> String {
    [api.server.text, address.app.text, address.channel.text, name.text].joined(separator: "\n")
  }

  /// Keeps that the origin holds what the folders do.
  func keep(
    _ state: LocalState, at version: ManifestVersion, resources: Int64, bytes: Int64, as name: BundleName
  ) {
    guard let overview else { return }
    let seen = ScanState(
      local: state.sha256, origin: overview.origin, version: version, resources: resources, bytes: bytes)
    try? cache.write(.states, Self.stateKey(name, api, address), seen.cached)
  }

  /// Keeps what the bundle is since a release.
  /// - Parameter entries: as `RemoteBundle.cachedEntries` gives them.
  func keep(_ entries: [UInt8], at version: ManifestVersion, as name: BundleName) {
    try? cache.write(.entries, key(name), RemoteBundle.cached(entries, at: version))
  }

  /// Keeps what the bundle is now; a cache that can't be written only costs time.
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
