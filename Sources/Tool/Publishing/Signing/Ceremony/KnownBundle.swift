import Manifests
import OriginAPI
import OriginClient

/// A bundle that a channel has, or had in a version that the origin lists.
package struct KnownBundle: Hashable, Sendable {
  package let channel: ChannelName
  package let bundle: BundleName

  package init(channel: ChannelName, bundle: BundleName) {
    self.channel = channel
    self.bundle = bundle
  }

  /// How many releases are asked for at a time.
  private static let page = 1000

  /// Returns the bundles of an app's channels: those that are live, then those that only earlier versions had.
  package static func all(_ overview: TrustOverview, _ api: OriginClient) throws(OriginError) -> [KnownBundle]
  {
    var known: [KnownBundle] = []
    var seen: Set<KnownBundle> = []
    func add(_ channel: ChannelName, _ bundle: BundleName) {
      let new = KnownBundle(channel: channel, bundle: bundle)
      if seen.insert(new).inserted { known.append(new) }
    }
    for channel in overview.channels {
      for bundle in channel.bundles + channel.candidate { add(channel.channel, bundle.bundle) }
    }
    for channel in overview.channels {
      var before: ManifestVersion?
      while true {
        let releases = try api.log(
          of: ChannelAddress(overview.app, channel.channel), limit: page, before: before
        ).value.releases
        for release in releases {
          for bundle in release.bundles {
            if let name = try? BundleName(bundle.bundle) { add(channel.channel, name) }
          }
        }
        guard releases.count == page, let last = releases.last?.version, before.map({ last < $0 }) ?? true
        else { break }
        before = last
      }
    }
    return known
  }
}
