import HTTP
import Platform
import Store

/// Takes a document from a sender who may send one; from anyone else nothing is taken.
final class DocumentReceiver: BodyReceiver {
  private let call: APIRequest
  private let api: APIEndpoint
  /// Bytes.
  private let limit: Int
  private let share: BodyBudget.Share
  private var state: State
  private var received = 0
  private var hasher = SHA256Hasher()

  private enum State {
    case receiving(AccessToken, any IncomingDocument)
    case refused(Problem)
  }

  /// - Parameter open: begins the document of a sender who may send it.
  init(
    _ call: APIRequest, _ api: APIEndpoint, _ takes: Requirement, limit: Int, _ open: APIRoute.Stream
  ) {
    self.call = call
    self.api = api
    self.limit = limit
    share = api.bodies.share()
    do throws(Problem) {
      let caller = try api.admitted(call, takes)
      state = .receiving(caller, try open(api, call, caller))
      try hold(Int(call.length ?? 0))
    } catch {
      state = .refused(error)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .receiving(_, let document) = state else { return false }
    do throws(Problem) {
      received += bytes.byteCount
      try hold(received)
      try document.take(bytes)
      if call.name != nil { hasher.update(bytes) }
      return true
    } catch {
      state = .refused(error)
      return false
    }
  }

  func finish() -> Response {
    api.respond { () throws(Problem) in
      switch state {
      case .refused(let problem): throw problem
      case .receiving(let caller, let document):
        return try api.once(call, caller, body: hasher.finish()) { (call) throws(Problem) in
          try document.finish(call)
        }
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
