import HTTP
import Manifests
import OriginAPI
import Store

/// What was done, for admins of everything.
struct AuditHandler: APIHandler {
  let context: RequestContext

  private static let page = 1000

  /// `GET /audit`
  func newest() throws -> Response {
    let limit = try request.number("limit", in: 1...Self.page) ?? 50
    let before = try request.number("before", in: 1...Int.max)
    return rows(try store.auditLog(limit: limit, before: before.map { Int64($0) }))
  }

  /// `GET /audit/export`
  func export() throws -> Response {
    let after = try request.number("after", in: 0...Int.max) ?? 0
    return rows(try store.auditRows(after: Int64(after), limit: Self.page))
  }

  private func rows(_ rows: [AuditRow]) -> Response { .json(AuditRows(rows: rows.map(\.json))) }
}
