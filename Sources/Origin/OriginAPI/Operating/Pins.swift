import Manifests

/// `POST …/pins`: a version for gc to keep.
package struct PinRequest: Codable, Sendable {
  /// A number, or a time at which it was live.
  package var version: String?
  /// Why, 1 to 1,024 bytes.
  package var reason: String?

  package init(version: String, reason: String) {
    self.version = version
    self.reason = reason
  }
}

/// A version that gc keeps.
package struct PinInfo: Codable, Hashable, Sendable {
  package let at: Moment
  package let author: String
  package let reason: String
  package let version: ManifestVersion

  package init(at: Moment, author: String, reason: String, version: ManifestVersion) {
    self.at = at
    self.author = author
    self.reason = reason
    self.version = version
  }
}

/// `GET …/pins`.
package struct PinList: Codable, Sendable {
  package let pins: [PinInfo]

  package init(pins: [PinInfo]) { self.pins = pins }
}

/// `DELETE …/pins/{version}`: the version that is no longer pinned.
package struct UnpinAnswer: Codable, Sendable {
  package let version: ManifestVersion

  package init(version: ManifestVersion) { self.version = version }
}
