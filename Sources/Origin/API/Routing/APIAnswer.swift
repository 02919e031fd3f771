import HTTP
import Manifests
import OriginAPI
import Store

/// The answer to an act, before it is a response: it is kept for retries, too.
struct APIAnswer: Sendable {
  let status: Status
  let document: JSONValue

  init(_ value: some Encodable, _ status: Status = .ok) {
    self.status = status
    document = JSONValue(encoding: value)
  }

  init(_ document: JSONValue, _ status: Status = .ok) {
    self.status = status
    self.document = document
  }

  var response: Response { .json(document, status) }
}

extension Response {
  /// A value of the API as an answer.
  static func json(_ value: some Encodable, _ status: Status = .ok) -> Response {
    APIAnswer(value, status).response
  }

  static func json(_ document: JSONValue, _ status: Status = .ok) -> Response {
    .json(rendered: document.canonical, status)
  }

  /// JSON that is rendered already.
  static func json(
    rendered body: [UInt8], _ status: Status = .ok, type: String = "application/json",
    with field: (name: StaticString, value: String)? = nil
  ) -> Response {
    .json(.bytes(SharedBytes(body)), status, type: type, with: field)
  }

  /// The same of a body that may be made while it is sent.
  static func json(
    _ body: Body, _ status: Status = .ok, type: String = "application/json",
    with field: (name: StaticString, value: String)? = nil
  ) -> Response {
    var fields = HeadFields([
      ("Content-Type", type), ("Cache-Control", "no-store"), ("Accept-Encoding", RequestCoding.accepted),
    ])
    if let field { fields.add(field.name, field.value) }
    return Response(status, fields, body)
  }
}

extension StoredAnswer {
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
          "this request was carried out before, but its answer was too long to keep; `xcache audit log` shows it"
        ))
    }
  }

  /// A retry is refused: its answer can't be given twice.
  init(_ problem: Problem) {
    self.init(status: problem.status, body: problem.document.canonical)
  }

  /// The answer once more.
  var response: Response {
    .json(
      rendered: body, Status(UInt16(clamping: status)),
      type: status < 400 ? "application/json" : Problem.mediaType)
  }
}
