/// A page that is open, from `Runtime.open` to `Runtime.close`.
public struct OpenPage: Hashable, Sendable {
  /// Unlike that of any other page of this process.
  public let id: UInt64
  /// Its address.
  public let url: String
  /// The manifest version that was held when it was opened.
  public let version: String
}
