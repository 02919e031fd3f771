import Manifests
import Platform

/// A resource of a channel as its rows tell it.
struct EntryRow {
  let content: ResourceContent
  let version: Int64
  let broughtIn: ManifestVersion
  let publicURL: String

  /// The columns that `init` reads; `r`, `b`, `t` and `p` are the resource with its blob, type and public URL.
  /// (A StaticString can't be put together, so the statements repeat them.)
  init(_ row: Statement, from column: Int32) throws(StoreError) {
    content = try ResourceContent(row, from: column)
    version = row.get(column + 4)
    broughtIn = row.version(column + 5)
    publicURL = row.get(column + 6)
  }

  /// What a manifest says of it: the same at any time, since all of it was fixed with the resource's row.
  func entry(_ url: ResourceURL, in channel: ChannelInfo) throws(StoreError) -> Entry {
    let path = DownloadPath(
      channel: channel.name, appID: channel.appID, manifestVersion: broughtIn, resourceVersion: version,
      sha256: content.sha256, url: url)
    let base = publicURL == channel.publicURL.text ? channel.publicURL : try Stored.base(publicURL)
    return Entry(content, download: path.url(publicURL: base), version: version)
  }
}
