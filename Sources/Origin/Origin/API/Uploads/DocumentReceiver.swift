import HTTP
import OriginAPI
import Store
import System

/// Receives a document from an authorized sender; from anyone else nothing is received.
final class DocumentReceiver: BodyReceiver {
  private let request: APIRequest
  private let api: APIEndpoint
  private let requirement: Requirement
  /// In bytes.
  private let limit: Int
  private var state: State
  private var body: BodyBytes
  /// In bytes, decoded.
  private var received = 0
  private var hasher = SHA256Hasher()

  private enum State {
    case receiving(RequestContext, any IncomingDocument, BodyBudget.Share)
    case refused(any Error)
  }

  /// Creates a receiver; `open` begins the document of an authorized sender.
  init(
    _ request: APIRequest, _ api: APIEndpoint, _ requirement: Requirement, limit: Int,
    _ open: (RequestContext) throws -> any IncomingDocument
  ) {
    self.request = request
    self.api = api
    self.requirement = requirement
    self.limit = limit
    body = BodyBytes(request.coding, maxRatio: BodyBytes.maxDocumentRatio)
    do {
      let context = try api.authorize(request, requirement)
      state = .receiving(context, try open(context), api.bodies.share(of: context.caller.id))
    } catch {
      state = .refused(error)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .receiving(_, let document, let share) = state else { return false }
    do {
      try body.decode(bytes) { bytes in
        received += bytes.byteCount
        try makeRoom(in: share)
        try document.append(bytes)
        hasher.update(bytes)
      }
      return true
    } catch {
      state = .refused(error)
      return false
    }
  }

  func finish() -> Response {
    api.respond(to: request) {
      switch state {
      case .refused(let error): throw error
      case .receiving(_, let document, _):
        try body.finish()
        // Checked again: a body may take minutes to arrive, and the token may be revoked or expire meanwhile.
        var context = try api.authorize(request, requirement)
        let digest = hasher.finish()
        context.body = digest
        return try api.once(context, body: digest, document.finish)
      }
    }
  }

  func abort() {}

  /// Reserves memory for what has arrived of the document.
  private func makeRoom(in share: BodyBudget.Share) throws(Problem) {
    guard received <= limit else { throw .tooLarge(limit: UInt64(limit)) }
    switch share.hold(received) {
    case .granted: break
    case .full: throw .documentsInFlight
    case .late: throw .documentTooSlow
    }
  }
}
