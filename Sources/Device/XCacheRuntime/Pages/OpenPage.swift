/// An open page, from `Runtime.open` to `Runtime.close`.
public struct OpenPage: Hashable, Sendable {
  /// Unique among the pages of this process.
  public let id: UInt64
  /// The page's URL.
  public let url: String
  /// The manifest version held when the page was opened.
  public let version: String
}
