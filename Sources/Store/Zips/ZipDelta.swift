import Manifests

/// A stored delta that goes into the zip of an update.
package struct ZipDelta: Hashable, Sendable {
  package let offer: DeltaOffer
  /// Its file.
  package let path: String

  package init(_ offer: DeltaOffer, path: String) {
    self.offer = offer
    self.path = path
  }
}
