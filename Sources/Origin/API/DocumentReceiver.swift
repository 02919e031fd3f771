import HTTP
import Store

/// Collects a JSON body from a sender who may send one; from anyone else nothing is taken.
final class DocumentReceiver: BodyReceiver {
  private let call: APIRequest
  private let api: APIEndpoint
  private var state: State
  private var body: [UInt8] = []

  private enum State {
    case collecting(AccessToken)
    case refused(Response)
  }

  init(_ call: APIRequest, _ api: APIEndpoint) {
    self.call = call
    self.api = api
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
      return api.respond { () throws(Problem) in try api.reply(to: call, token, body) }
    }
  }

  func abort() {}
}
