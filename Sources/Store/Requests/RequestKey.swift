import Platform

/// What a sender calls one request, so that a retry is told from a new one.
package struct RequestKey: Hashable, Sendable {
  /// The id of the token that it was sent with.
  package let token: String
  /// What the sender made up.
  package let text: String
  /// sha256 of everything that makes it this request and no other.
  package let request: SHA256

  package init(token: String, text: String, request: SHA256) {
    self.token = token
    self.text = text
    self.request = request
  }
}

/// What a request was answered, to be answered again. It holds no secret.
package struct KeptAnswer: Hashable, Sendable {
  package let status: Int
  /// JSON.
  package let body: [UInt8]

  package init(status: Int, body: [UInt8]) {
    self.status = status
    self.body = body
  }
}

/// Has an act keep its answer under the request's key, in its own transaction.
package struct AnswerRecord<Outcome>: Sendable {
  let key: RequestKey
  /// The answer to what the act came to; nil: it was a refusal, which isn't kept.
  let answer: @Sendable (Outcome) -> KeptAnswer?

  package init(_ key: RequestKey, answer: @escaping @Sendable (Outcome) -> KeptAnswer?) {
    self.key = key
    self.answer = answer
  }
}
