/// A request that a device sends when a page opens, before the page asks for it.
public struct PrefetchRequest: Hashable, Sendable {
  /// `GET`, `POST`, `PUT` or `DELETE`.
  public let method: String
  /// Absolute, http or https.
  public let url: String
  /// Canonical JSON; nil: none is sent. iOS sends none with a GET either way.
  public let body: String?
  /// What Content-Type says of the body; nil without one.
  public var contentType: String? { body == nil ? nil : "application/json" }
}
