import Manifests
import Platform

/// A channel and what is live in it.
package struct ChannelInfo: Hashable, Sendable {
  /// The row's number, which stays for the life of the database.
  package let id: Int64
  package let app: AppName
  package let appID: Int64
  package let name: ChannelName
  package let publicURL: BaseURL
  /// The newest release; 0 where there is none.
  package let version: ManifestVersion
  /// When it was made, in milliseconds since 1970, and the sha256 of its canonical resourcemap.
  package let at: Int64?
  package let digest: SHA256?
  package let resources: Int
  package let bytes: Int64
  let publicURLID: Int64
  let leastNext: Int64

  /// The number that the next release gets.
  var nextVersion: ManifestVersion { ManifestVersion(max(version.number + 1, leastNext)) }

  /// The same channel after a release.
  func after(_ version: ManifestVersion, at: Int64, digest: SHA256, resources: Int, bytes: Int64)
    -> ChannelInfo
  {
    ChannelInfo(
      id: id, app: app, appID: appID, name: name, publicURL: publicURL, version: version, at: at,
      digest: digest, resources: resources, bytes: bytes, publicURLID: publicURLID, leastNext: leastNext)
  }
}

/// A bundle and what is live in it.
package struct BundleInfo: Hashable, Sendable {
  package let name: BundleName
  /// The last version at which it changed; 0 where it never held anything.
  package let version: ManifestVersion
  package let resources: Int
  package let bytes: Int64
  let id: Int64
}
