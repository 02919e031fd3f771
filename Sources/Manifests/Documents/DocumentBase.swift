/// The version that a device has, and the deltas on its resources.
package struct DocumentBase: Hashable, Sendable {
  package let version: ManifestVersion
  /// As `DeltaOffer.render` writes them.
  package let deltas: [UInt8]

  package init(_ version: ManifestVersion, deltas: [UInt8] = Array("{}".utf8)) {
    self.version = version
    self.deltas = deltas
  }
}
