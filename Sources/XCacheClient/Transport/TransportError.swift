/// Why there is no answer from a server.
public struct TransportError: Error, Hashable, Sendable {
  /// What went wrong, as far as a device acts on it.
  public enum Kind: String, Hashable, Sendable {
    /// No connection: an unknown host, a closed port, no network, no trusted certificate.
    case unreachable
    /// Nothing, or too little, came for too long.
    case timedOut
    /// The connection ended before the answer was whole.
    case broken
    /// The answer is longer than the request's limit.
    case tooLong
    /// `receive` gave false.
    case stopped
    /// Anything else, such as an answer that isn't HTTP.
    case other
  }

  /// What a device acts on.
  public let kind: Kind
  /// In words, with the host.
  public let reason: String

  /// A failure of the given kind; `reason` says it in words.
  public init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }
}
