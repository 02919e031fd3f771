import HTTP
import Store

/// Collects a JSON body from a sender who may send one; from anyone else nothing is taken.
final class DocumentReceiver: BodyReceiver {
  private let call: APIRequest
  private let api: APIEndpoint
  private let change: APIRoute.Change
  private var state: State
  private var body: [UInt8] = []

  private enum State {
    case collecting(AccessToken)
    case refused(Response)
  }

  /// - Parameter change: what is answered to the document.
  init(_ call: APIRequest, _ api: APIEndpoint, _ change: @escaping APIRoute.Change) {
    self.call = call
    self.api = api
    self.change = change
    do {
      state = .collecting(try api.authorised(call))
    } catch {
      state = .refused(error.response)
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    guard case .collecting = state else { return false }
    bytes.withUnsafeBytes { body.append(contentsOf: $0) }
    return true
  }

  func finish() -> Response {
    switch state {
    case .refused(let response): return response
    case .collecting(let token):
      return api.respond { () throws(Problem) in try change(api, call, token, APIEndpoint.parse(body)) }
    }
  }

  func abort() {}
}
