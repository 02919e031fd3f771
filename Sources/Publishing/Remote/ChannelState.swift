import Manifests
import System

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
  /// Bytes that the origin had and lost, and that whoever has them should send again.
  package let damaged: Set<SHA256>
  /// Whether the channel has a prefetch config.
  package let hasPrefetch: Bool

  /// A channel that a first publish will make.
  static let none = ChannelState(originID: "", version: .none, bundles: [:], damaged: [], hasPrefetch: false)

  private init(
    originID: String, version: ManifestVersion, bundles: [String: Bundle], damaged: Set<SHA256>,
    hasPrefetch: Bool
  ) {
    self.hasPrefetch = hasPrefetch
    self.originID = originID
    self.version = version
    self.bundles = bundles
    self.damaged = damaged
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
    hasPrefetch = json["prefetch"]?.object != nil
    damaged = Set((json["damaged"]?.array ?? []).compactMap { $0.string.flatMap { SHA256(hex: $0) } })
  }
}
