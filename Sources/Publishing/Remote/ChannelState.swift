import Manifests

/// What the origin says of a channel.
package struct ChannelState: Hashable, Sendable {
  package struct Bundle: Hashable, Sendable {
    package let version: ManifestVersion
    package let resources: Int64
    package let bytes: Int64
  }

  /// Tells this origin's data from any other's that ever answered at the same address; empty: it doesn't say.
  package let originID: String
  package let version: ManifestVersion
  package let bundles: [String: Bundle]

  /// A channel that a first publish will make.
  static let none = ChannelState(originID: "", version: .none, bundles: [:])

  private init(originID: String, version: ManifestVersion, bundles: [String: Bundle]) {
    self.originID = originID
    self.version = version
    self.bundles = bundles
  }

  /// - Throws: `JSONError` with the member that is missing or wrong.
  init(json: JSONValue) throws(JSONError) {
    originID = json["origin"]?.string ?? ""
    version = try json.version("version")
    guard let list = json["bundles"]?.array else { throw .member("bundles") }
    var bundles: [String: Bundle] = [:]
    for item in list {
      guard let resources = item["resources"]?.integer else { throw .member("resources") }
      bundles[try item.string("name")] = Bundle(
        version: try item.version("version"), resources: resources, bytes: try item.size("bytes"))
    }
    self.bundles = bundles
  }
}
