import HTTP
import Manifests
import Store

/// `GET /audit` and `/audit/export`: what was done, for admins of everything.
struct AuditCalls {
  let store: Store
  let call: APIRequest

  private static let page = 1000

  func reply() throws(Problem) -> Response {
    let rows: [AuditRow]
    switch (call.path.count, call.path.last) {
    case (1, _):
      let limit = try call.number("limit", in: 1...Self.page) ?? 50
      let before = try call.number("before", in: 1...Int.max)
      rows = try APIEndpoint.store { () throws(StoreError) in
        try store.auditLog(limit: limit, before: before.map { Int64($0) })
      }
    case (2, "export"):
      let after = try call.number("after", in: 0...Int.max) ?? 0
      rows = try APIEndpoint.store { () throws(StoreError) in
        try store.auditRows(after: Int64(after), limit: Self.page)
      }
    default: throw .notFound
    }
    return APIEndpoint.document(["rows": .array(rows.map(\.json))])
  }
}
