import HTTP
import OriginAPI

/// Writes files to the store, once their sender has been authorized.
protocol UploadSink: AnyObject {
  func append(_ bytes: RawSpan) throws
  func finish() throws -> Response
}

/// Receives files from an authorized sender; from anyone else nothing is received.
final class UploadReceiver: BodyReceiver {
  private let request: APIRequest
  private let api: APIEndpoint
  private let requirement: Requirement
  private var body: BodyBytes
  /// In bytes, decoded.
  private var received: UInt64 = 0
  private var state: State

  private enum State {
    case receiving(any UploadSink)
    case refused(any Error)
  }

  init(
    _ request: APIRequest, _ api: APIEndpoint, _ requirement: Requirement,
    _ open: (RequestContext) throws -> any UploadSink
  ) {
    self.request = request
    self.api = api
    self.requirement = requirement
    body = BodyBytes(request.coding)
    do {
      state = .receiving(try open(api.authorize(request, requirement)))
    } catch {
      state = .refused(error)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .receiving(let sink) = state else { return false }
    do {
      try body.decode(bytes) { bytes in
        received += UInt64(bytes.byteCount)
        guard received <= api.largestUpload else { throw Problem.tooLarge(limit: api.largestUpload) }
        try sink.append(bytes)
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
      case .receiving(let sink):
        // Checked again: a large file takes long to arrive, and the token may be revoked or expire meanwhile.
        try body.finish()
        _ = try api.authorize(request, requirement)
        return try sink.finish()
      case .refused(let error): throw error
      }
    }
  }

  // Dropping the sink discards what was partly received.
  func abort() { state = .refused(CancellationError()) }
}
