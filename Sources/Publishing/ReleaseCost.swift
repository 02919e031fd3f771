import Manifests

/// What devices download for a release, as the origin worked it out.
package struct ReleaseCost: Hashable, Sendable {
  package struct Update: Hashable, Sendable {
    /// Files over the wire, and how many of them as deltas.
    package let files: Int64
    package let deltas: Int64
    /// Bytes over the wire, and what they would be without deltas.
    package let bytes: Int64
    package let plainBytes: Int64
  }

  /// Whether the deltas on the replaced version were stored before the release.
  package let isReady: Bool
  /// Whether those on older versions were, too; the costs for these are upper limits otherwise.
  package let isDone: Bool
  /// From the version that is replaced, from the one before it, from the fifth before.
  package let last1: Update?
  package let last2: Update?
  package let last5: Update?
  /// For devices that have nothing.
  package let new: Update?
  /// How long it took, in milliseconds.
  package let milliseconds: Int64
  /// The whole answer.
  package let json: JSONValue

  init(_ json: JSONValue) {
    self.json = json
    isReady = json["ready"]?.bool ?? false
    isDone = json["done"]?.bool ?? false
    milliseconds = json["milliseconds"]?.integer ?? 0
    func update(_ key: String) -> Update? {
      guard let cost = json["cost"]?[key], cost.object != nil else { return nil }
      return Update(
        files: cost["files"]?.integer ?? 0, deltas: cost["deltas"]?.integer ?? 0,
        bytes: cost["bytes"]?.integer ?? 0, plainBytes: cost["plainBytes"]?.integer ?? 0)
    }
    (last1, last2, last5, new) = (update("last1"), update("last2"), update("last5"), update("new"))
  }
}
