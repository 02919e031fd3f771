import HTTP
import Store
import System

/// Takes a document from a sender who may send one; from anyone else nothing is taken.
final class DocumentReceiver: BodyReceiver {
  private let call: APIRequest
  private let api: APIEndpoint
  /// Bytes.
  private let limit: Int
  private var state: State
  private var received = 0
  private var hasher = SHA256Hasher()

  private enum State {
    case receiving(AccessToken, any IncomingDocument, BodyBudget.Share)
    case refused(Problem)
  }

  /// - Parameter open: begins the document of a sender who may send it.
  init(
    _ call: APIRequest, _ api: APIEndpoint, _ takes: Requirement, limit: Int, _ open: APIRoute.Stream
  ) {
    self.call = call
    self.api = api
    self.limit = limit
    do throws(Problem) {
      let caller = try api.admitted(call, takes)
      state = .receiving(caller, try open(api, call, caller), api.bodies.share(of: caller.id))
    } catch {
      state = .refused(error)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .receiving(_, let document, let share) = state else { return false }
    do throws(Problem) {
      received += bytes.byteCount
      try makeRoom(in: share)
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
      case .receiving(let caller, let document, _):
        return try api.once(call, caller, body: hasher.finish()) { (call) throws(Problem) in
          try document.finish(call)
        }
      }
    }
  }

  func abort() {}

  /// Makes room for what has arrived of the document.
  private func makeRoom(in share: BodyBudget.Share) throws(Problem) {
    guard received <= limit else { throw .tooLarge(limit: UInt64(limit)) }
    switch share.hold(received) {
    case .granted: break
    case .full: throw .documentsInFlight
    case .late: throw .documentTooSlow
    }
  }
}
