import HTTP
import OriginAPI
import Store
import Values

/// The answer to an act before it becomes a response; it is also kept for retries.
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
  /// Returns a value of the API as a JSON response.
  static func json(_ value: some Encodable, _ status: Status = .ok) -> Response {
    APIAnswer(value, status).response
  }

  static func json(_ document: JSONValue, _ status: Status = .ok) -> Response {
    .json(rendered: document.canonical, status)
  }

  /// Returns a response with JSON that is already rendered.
  static func json(
    rendered body: [UInt8], _ status: Status = .ok, type: String = "application/json",
    with field: (name: StaticString, value: String)? = nil
  ) -> Response {
    .json(.bytes(SharedBytes(body)), status, type: type, with: field)
  }

  /// Returns a response with a JSON body that may be produced while it is sent.
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
  /// The maximum size of a kept answer, in bytes; only a gc report over very many versions exceeds it.
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

  /// An answer that refuses retries, since the original can't be given twice.
  init(_ problem: Problem) {
    self.init(status: problem.status, body: problem.document.canonical)
  }

  /// The kept answer as a response.
  var response: Response {
    .json(
      rendered: body, Status(UInt16(clamping: status)),
      type: status < 400 ? "application/json" : Problem.mediaType)
  }
}
