/// The head of an answer that was received, as text: status, reason and fields.
package struct HTTPHead: Equatable, Sendable {
  /// The status code.
  package var status: Int
  /// The server's own reason phrase, which may be empty; nil if the status line has none, as with HTTP/2.
  package var reason: String?
  /// The fields in the order received.
  package var fields: HTTPFields

  /// Creates a head.
  package init(_ status: Int, reason: String? = nil, _ fields: HTTPFields = []) {
    self.status = status
    self.reason = reason
    self.fields = fields
  }

  /// The seconds in `Retry-After`, if it has that form (RFC 9110 §10.2.3).
  package var retryAfter: Int? { fields["retry-after"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }
}
