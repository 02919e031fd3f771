/// How long a request's body is, as its head says (RFC 9112 §6.3).
package enum BodyLength: Sendable, Equatable {
  case none
  case length(UInt64)
  case chunked
}
