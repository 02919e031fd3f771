/// What a server answered.
package struct HTTPReply: Equatable, Sendable {
  package let status: Int
  /// In the order received, those of the last answer where there were redirects.
  package let fields: [HTTPField]
  package let body: [UInt8]

  package init(status: Int, fields: [HTTPField], body: [UInt8]) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  package var isSuccess: Bool { (200..<300).contains(status) }

  /// The first value of the field `name`, in any case of letters.
  package func field(_ name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The seconds of `Retry-After`, where it has that form (RFC 9110 §10.2.3).
  package var retryAfter: Int? { field("retry-after").flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }
}
