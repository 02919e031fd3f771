import Manifests
import OriginAPI
import OriginClient
import System
import Values
import XCacheDevice

/// What is live in a channel besides the bundles to be published.
package struct OtherBundles: Sendable {
  let items: [ManifestItem]
  let transport: any Transport

  /// The most bytes of them to fetch for opening pages.
  package static let limit: Int64 = 256 << 20

  /// Fetches the entries of all bundles except `names`, which are replaced; nil if nothing else is live. `transport` fetches their
  /// files.
  package init?(
    _ channel: ChannelAddress, at api: OriginClient, transport: any Transport, without names: [BundleName]
  ) throws {
    let overview: ChannelOverview
    do {
      overview = try api.overview(of: channel).value
    } catch {
      // The first release creates the channel.
      if error.problem?.status == 404 { return nil }
      throw error
    }
    guard overview.bundles.contains(where: { !names.contains($0.name) }) else { return nil }
    var replaced: Set<String> = []
    for bundle in overview.bundles where names.contains(bundle.name) {
      let entries = try api.entries(of: bundle.name, in: channel).entries.object?.members ?? []
      replaced.formUnion(entries.map(\.key))
    }
    let members = try api.manifest(of: channel).object?.members ?? []
    items = try members.filter { !replaced.contains($0.key) }.map { member in
      try Self.item(member.key, member.value, of: api.server)
    }
    self.transport = transport
  }

  private static func item(_ url: String, _ json: JSONValue, of server: BaseURL) throws -> ManifestItem {
    guard let url = try? ResourceURL(url), let entry = try? Entry(json: json),
      let place = DownloadPlace(entry.download)
    else { throw PreviewError.badEntry(server, url: url) }
    // The origin itself serves every path of the public URL, which may be unreachable from here.
    let near = Entry(
      ctype: entry.ctype, download: place.path.url(publicURL: server), md5: entry.md5, sha256: entry.sha256,
      size: entry.size, version: entry.version, others: entry.others)
    return ManifestItem(url: url, entry: near)
  }

  /// Their size.
  package var bytes: Int64 { items.clampedSum(\.entry.size) }
}
