import Manifests

/// A document of a mirror without which a version or a whole channel can't be restored.
package struct DamagedDocument: Sendable, CustomStringConvertible {
  package let channel: MirroredChannel
  /// The version that isn't restored; nil: the channel.
  package let version: ManifestVersion?
  /// From the mirror's root.
  package let path: String
  package let reason: String

  /// What isn't restored, and why.
  package var description: String {
    "\(channel)\(version.map { " version \($0)" } ?? ""): \(path) can't be read: \(reason)"
  }

  package var json: JSONValue {
    [
      "app": .string(channel.app.text), "channel": .string(channel.channel.text), "path": .string(path),
      "reason": .string(reason), "version": version.map { .string($0.text) } ?? .null,
    ]
  }
}
