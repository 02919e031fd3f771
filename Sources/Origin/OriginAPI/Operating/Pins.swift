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

/// `GET …/pins`.
package struct PinList: Codable, Sendable {
  package let pins: [Pin]

  package init(pins: [Pin]) { self.pins = pins }
}

/// `DELETE …/pins/{version}`: the version that is no longer pinned.
package struct UnpinAnswer: Codable, Sendable {
  package let version: ManifestVersion

  package init(version: ManifestVersion) { self.version = version }
}
