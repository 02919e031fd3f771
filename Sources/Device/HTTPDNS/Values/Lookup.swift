/// The answer to a lookup of a host.
public struct LookupAnswer: Hashable, Sendable {
  /// In the order received, without duplicates, at least one.
  public let addresses: [IPAddress]
  /// The time to live in seconds; nil if the source didn't give one.
  public let seconds: Int?

  /// Nil if none of the addresses can belong to a host.
  public init?(_ addresses: [IPAddress], seconds: Int?) {
    var seen: Set<IPAddress> = []
    let usable = addresses.filter { $0.isOfOneHost && seen.insert($0).inserted }
    guard !usable.isEmpty else { return nil }
    // More than are ever tried, and a bound on the memory that one answer can take.
    self.addresses = Array(usable.prefix(Self.limit))
    self.seconds = seconds
  }

  /// The most addresses that are kept for one host.
  static let limit = 32
}

/// The reason why a lookup has no answer.
public enum LookupError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The host has no address, or the name doesn't exist.
  case noAddress
  /// No answer came in time.
  case timedOut
  /// The service couldn't be reached, with the reason.
  case unreachable(String)
  /// The service answered with an error status or code.
  case refused(Int)
  /// What the service sent isn't an answer to the question.
  case badAnswer
  /// Too many lookups are hanging already.
  case busy

  /// The error message.
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
