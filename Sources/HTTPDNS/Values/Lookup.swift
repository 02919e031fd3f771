/// What was found out about a host.
public struct LookupAnswer: Hashable, Sendable {
  /// In the order received, each once, at least one.
  public let addresses: [IPAddress]
  /// Seconds for which it holds; nil where whoever answered didn't say.
  public let seconds: Int?

  /// Nil without an address that a connection can be meant for.
  public init?(_ addresses: [IPAddress], seconds: Int?) {
    var seen: Set<IPAddress> = []
    let usable = addresses.filter { $0.isOfOneHost && seen.insert($0).inserted }
    guard !usable.isEmpty else { return nil }
    // More than anybody tries, and a bound on what one answer makes us keep.
    self.addresses = Array(usable.prefix(Self.limit))
    self.seconds = seconds
  }

  /// Addresses that are kept of one host.
  static let limit = 32
}

/// Why nothing was found out about a host.
public enum LookupError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The host has no address, or there is no such name.
  case noAddress
  /// Nothing came in time.
  case timedOut
  /// The service couldn't be reached, in words.
  case unreachable(String)
  /// The service answered with a status or code that is no success.
  case refused(Int)
  /// What the service sent isn't an answer to the question.
  case badAnswer
  /// Too many lookups hang already.
  case busy

  /// In words.
  public var description: String {
    switch self {
    case .noAddress: "there is no such host"
    case .timedOut: "no answer in time"
    case .unreachable(let reason): reason
    case .refused(let code): "refused with code \(code)"
    case .badAnswer: "an answer that can't be read"
    case .busy: "too many pending lookups"
    }
  }
}
