import Manifests
import Platform

extension DeviceIndex {
  /// What `index.json` says besides the manifest: whose it is.
  struct Owner: Hashable, Sendable {
    let app: String
    let channel: String
  }

  /// `index.json`, canonical, so that two devices with one manifest have equal bytes.
  func rendered(for owner: Owner) -> [UInt8] {
    let document: JSONValue = [
      "app": .string(owner.app), "channel": .string(owner.channel), "digest": .string(digest.hex),
      "resourcemap": .object(map), "version": .string(version.text),
    ]
    return document.canonical
  }

  /// Reads `index.json`; nil where its bytes aren't whole, or not those that were written.
  static func parse(_ bytes: [UInt8]) -> (owner: Owner, index: DeviceIndex)? {
    guard let document = try? JSONValue.parse(bytes), let app = document["app"]?.string,
      let channel = document["channel"]?.string, let map = document["resourcemap"]?.object,
      let version = document["version"]?.string.flatMap({ ManifestVersion(text: $0) }),
      let index = try? DeviceIndex(version: version, map: map),
      document["digest"]?.string == index.digest.hex
    else { return nil }
    return (Owner(app: app, channel: channel), index)
  }
}
