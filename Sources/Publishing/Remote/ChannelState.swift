import Manifests

/// What the origin says of a channel.
package struct ChannelState: Hashable, Sendable {
  package struct Bundle: Hashable, Sendable {
    package let version: ManifestVersion
    package let resources: Int64
    package let bytes: Int64
  }

  /// When the channel was made, as the origin writes it: tells it from another origin's that had the same address
  /// and names. Empty where the origin doesn't say.
  package let created: String
  package let version: ManifestVersion
  package let bundles: [String: Bundle]

  /// A channel that a first publish will make.
  static let none = ChannelState(created: "", version: .none, bundles: [:])

  private init(created: String, version: ManifestVersion, bundles: [String: Bundle]) {
    self.created = created
    self.version = version
    self.bundles = bundles
  }

  /// - Throws: `JSONError` with the member that is missing or wrong.
  init(json: JSONValue) throws(JSONError) {
    created = json["created"]?.string ?? ""
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
