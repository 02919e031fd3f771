import HTTP
import Manifests
import Store

/// The answer to an act, before it is a response: it is kept for retries, too.
struct APIAnswer: Sendable {
  let status: Status
  let document: JSONValue
  private let type: String

  init(_ document: JSONValue, _ status: Status = .ok) {
    self.status = status
    self.document = document
    type = "application/json"
  }

  var response: Response { Self.response(status, type, document.canonical) }

  static func response(_ status: Status, _ type: String, _ body: [UInt8]) -> Response {
    let fields = HeadFields([("Content-Type", type), ("Cache-Control", "no-store")])
    return Response(status, fields, .bytes(SharedBytes(body)))
  }
}

extension KeptAnswer {
  /// An answer of more bytes isn't kept: only a report of gc over very many versions has as many.
  private static let limit = 1 << 20

  init(_ answer: APIAnswer) {
    let body = answer.document.canonical
    if body.count <= Self.limit {
      self.init(status: Int(answer.status.code), body: body)
    } else {
      self.init(
        Problem(
          .conflict, "answer-not-kept",
          "this request was carried out before, and its answer was too long to be kept; `xcache audit log` shows it"
        ))
    }
  }

  /// A retry is refused: its answer can't be given twice.
  init(_ problem: Problem) {
    self.init(status: Int(problem.status.code), body: problem.document.canonical)
  }

  /// The answer once more.
  var response: Response {
    let type = status < 400 ? "application/json" : "application/problem+json"
    return APIAnswer.response(Status(UInt16(clamping: status)), type, body)
  }
}

extension APIRequest {
  /// Carries out an act that keeps its answer for retries in its own transaction.
  /// - Parameters:
  ///   - answer: the answer to what the act came to; worked out twice, from the outcome alone.
  ///   - act: is given what it keeps the answer by.
  func answering<Outcome>(
    _ answer: @escaping @Sendable (Outcome) -> APIAnswer,
    to act: (AnswerRecord<Outcome>?) throws(StoreError) -> Outcome
  ) throws(Problem) -> Response {
    let record = key.map { AnswerRecord<Outcome>($0) { KeptAnswer(answer($0)) } }
    return answer(try APIEndpoint.store { () throws(StoreError) in try act(record) }).response
  }
}
