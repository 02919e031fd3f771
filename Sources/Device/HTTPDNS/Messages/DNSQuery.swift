/// A query about one host, as a DNS message (RFC 1035 §4).
struct DNSQuery: Hashable, Sendable {
  enum Kind: UInt16, Sendable {
    case v4 = 1
    case v6 = 28
  }

  let host: HostName
  let kind: Kind

  /// The message: one question, with recursion desired.
  var bytes: [UInt8] {
    // "DoH clients SHOULD use a DNS ID of 0 in every DNS request" (RFC 8484 §4.1).
    let head: [UInt8] = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    return head + host.wire + [0, UInt8(kind.rawValue), 0, 1]
  }
}
