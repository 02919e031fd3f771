import HTTP
import Store

/// Takes a document from a sender who may send one; from anyone else nothing is taken.
final class DocumentReceiver: BodyReceiver {
  private let call: APIRequest
  private let api: APIEndpoint
  private let change: APIRoute.Change
  /// Bytes.
  private let limit: Int
  private let share: BodyBudget.Share
  private var state: State
  private var body: [UInt8] = []

  private enum State {
    case collecting(AccessToken)
    case refused(Problem)
  }

  /// - Parameter change: what is answered to the document.
  init(
    _ call: APIRequest, _ api: APIEndpoint, _ takes: Requirement, limit: Int,
    _ change: @escaping APIRoute.Change
  ) {
    self.call = call
    self.api = api
    self.limit = limit
    self.change = change
    share = api.bodies.share()
    do throws(Problem) {
      state = .collecting(try api.admitted(call, takes))
      try hold(Int(call.length ?? 0))
    } catch {
      state = .refused(error)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .collecting = state else { return false }
    do throws(Problem) {
      try hold(body.count + bytes.byteCount)
    } catch {
      state = .refused(error)
      body = []
      return false
    }
    bytes.withUnsafeBytes { body.append(contentsOf: $0) }
    return true
  }

  func finish() -> Response {
    api.respond { () throws(Problem) in
      switch state {
      case .refused(let problem): throw problem
      case .collecting(let token): return try change(api, call, token, APIEndpoint.parse(body))
      }
    }
  }

  func abort() {}

  /// Makes room for so many bytes of the document.
  private func hold(_ count: Int) throws(Problem) {
    guard count <= limit else { throw .tooLarge(limit: UInt64(limit)) }
    guard share.hold(count) else { throw .documentsInFlight }
  }
}
