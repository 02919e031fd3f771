/// What an update did to the documents beside the manifest.
public struct DocumentReport: Hashable, Sendable {
  /// The versions held before and now.
  public struct Change: Hashable, Sendable {
    /// `0` where none was held.
    public let from: String
    /// What the device has now.
    public let to: String
  }

  /// Nil where the policy stayed as it was.
  public internal(set) var policy: Change?
  /// Nil where the prefetch config stayed as it was.
  public internal(set) var prefetch: Change?
  /// Why a document that is new couldn't be had; the next poll tries again.
  public internal(set) var failures: [ClientError] = []
}
