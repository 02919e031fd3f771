import HTTP
import OriginAPI

/// What takes files to the store, once their sender was admitted.
protocol UploadSink: AnyObject {
  func append(_ bytes: RawSpan) throws
  func finish() throws -> Response
}

/// Takes files as they arrive from a sender who may send them; from anyone else nothing is taken.
final class UploadReceiver: BodyReceiver {
  private let request: APIRequest
  private let api: APIEndpoint
  private let takes: Requirement
  private var body: BodyBytes
  /// Bytes, decoded.
  private var received: UInt64 = 0
  private var state: State

  private enum State {
    case receiving(any UploadSink)
    case refused(any Error)
  }

  init(
    _ request: APIRequest, _ api: APIEndpoint, _ takes: Requirement,
    _ open: (RequestContext) throws -> any UploadSink
  ) {
    self.request = request
    self.api = api
    self.takes = takes
    body = BodyBytes(request.coding)
    do {
      state = .receiving(try open(api.admit(request, takes)))
    } catch {
      state = .refused(error)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .receiving(let sink) = state else { return false }
    do {
      try body.take(bytes) { bytes in
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
    api.respond {
      switch state {
      case .receiving(let sink):
        // Again: a large file takes long to arrive, in which a token is revoked or ends.
        try body.finish()
        _ = try api.admit(request, takes)
        return try sink.finish()
      case .refused(let error): throw error
      }
    }
  }

  // Letting go of a sink drops what was half received.
  func abort() { state = .refused(CancellationError()) }
}
