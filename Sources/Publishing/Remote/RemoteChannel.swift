import Manifests
import OriginAPI
import System

/// Reads what a channel's bundles hold, from the cache and the little that changed since.
struct RemoteChannel {
  let api: OriginClient
  private let cache: CacheFolder
  private let app: AppName
  private let channel: ChannelName
  let state: ChannelState
  /// False where the first release will make the channel.
  let exists: Bool

  /// Bytes that the origin had and lost.
  var damaged: Set<SHA256> { state.damaged }

  /// `apps/{app}/channels/{channel}`.
  var path: String { "apps/\(app)/channels/\(channel)" }

  init(_ api: OriginClient, _ cache: CacheFolder, _ app: AppName, _ channel: ChannelName) throws(PublishError)
  {
    self.api = api
    self.cache = cache
    self.app = app
    self.channel = channel
    let state = try RemoteChannel.state(api, app, channel)
    exists = state != nil
    self.state = state ?? .none
  }

  /// Nil where there is no such app or channel.
  private static func state(
    _ api: OriginClient, _ app: AppName, _ channel: ChannelName
  ) throws(PublishError) -> ChannelState? {
    do {
      let json = try api.get("apps/\(app)/channels/\(channel)")
      return try api.reading { () throws(JSONError) in try ChannelState(json: json) }
    } catch {
      guard error.problem?.status == 404 else { throw .origin(error) }
      return nil
    }
  }

  /// The bundle as it is now.
  ///
  /// What was kept is trusted only where version, number of resources and bytes, and the origin's id,
  /// are what the origin says: another data folder may answer at the address, or a restored one. Else all is
  /// asked for anew.
  func bundle(_ name: BundleName, trustsCache: Bool = true) throws(PublishError) -> RemoteBundle {
    guard exists else { return .none }
    if trustsCache, let expected = state.bundles[name.text], let kept = cached(name) {
      if kept.agrees(with: expected) { return kept }
      if kept.version < expected.version {
        let answer = try entries(name, since: kept.version)
        let start = answer.base == kept.version ? kept : .none
        let now = start.applying(answer.changes, version: answer.version)
        if answer.base == nil || now.agrees(with: expected) { return keep(now, as: name) }
      }
    }
    let answer = try entries(name, since: nil)
    return keep(RemoteBundle.none.applying(answer.changes, version: answer.version), as: name)
  }

  private func entries(_ name: BundleName, since: ManifestVersion?) throws(PublishError) -> EntriesAnswer {
    let query = since.map { "?since=\($0)" } ?? ""
    return try PublishError.asking { () throws(OriginError) in
      let json = try api.get("\(path)/bundles/\(name)/entries\(query)", limit: 1 << 30)
      return try api.reading { () throws(JSONError) in try EntriesAnswer(json: json) }
    }
  }

  // MARK: Cache

  private func key(_ name: BundleName) -> String {
    // A line break is in none of them.
    [api.server.text, state.originID, app.text, channel.text, name.text].joined(separator: "\n")
  }

  private func cached(_ name: BundleName) -> RemoteBundle? {
    cache.read(.entries, key(name)).flatMap { RemoteBundle(cached: $0) }
  }

  /// Keeps what the bundle is now; a cache that can't be written only costs time.
  @discardableResult
  func keep(_ bundle: RemoteBundle, as name: BundleName) -> RemoteBundle {
    try? cache.write(.entries, key(name), bundle.cached)
    return bundle
  }
}

extension RemoteBundle {
  fileprivate func agrees(with state: ChannelState.Bundle) -> Bool {
    version == state.version && Int64(entries.count) == state.resources && bytes == state.bytes
  }
}
