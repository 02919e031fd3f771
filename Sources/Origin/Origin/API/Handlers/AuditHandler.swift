import HTTP
import Manifests
import OriginAPI
import Store
import System

/// The audit trail, for unrestricted admins.
struct AuditHandler: APIHandler {
  let context: RequestContext

  private static let page = 1000

  /// `GET /audit`
  func newest() throws -> Response {
    let limit = try request.number("limit", in: 1...Self.page) ?? 50
    let before = try request.number("before", in: 1...Int.max)
    return rows(try store.auditLog(try filter(), limit: limit, before: before.map { Int64($0) }))
  }

  /// `GET /audit/export`
  func export() throws -> Response {
    let after = try request.number("after", in: 0...Int.max) ?? 0
    return rows(try store.auditRows(after: Int64(after), limit: Self.page))
  }

  /// `GET /audit/verify`
  func verify() throws -> Response {
    let (broken, head) = try store.verifyAudit()
    return .json(
      AuditVerification(head: head.text, rows: head.row, broken: broken.map { "\($0)" }, row: broken?.row))
  }

  private func filter() throws(Problem) -> AuditFilter {
    func moment(_ name: String) throws(Problem) -> Int64? {
      guard let text = request.text(name) else { return nil }
      guard let moment = Timestamp.parse(text) else {
        throw .badRequest("\(name)=\(text) is not a time with its offset such as 2026-11-19T14:05+08:00")
      }
      return moment
    }
    var filter = AuditFilter()
    (filter.author, filter.act) = (request.text("author"), request.text("act"))
    (filter.app, filter.channel) = (request.text("app"), request.text("channel"))
    (filter.since, filter.until) = (try moment("since"), try moment("until"))
    return filter
  }

  private func rows(_ rows: [AuditRow]) -> Response { .json(AuditRows(rows: rows.map(\.json))) }
}
