import HTTP
import Manifests
import Store

/// What is done to a channel beside publishing: `POST /apps/{app}/channels/{channel}/…`.
struct OperationCalls {
  private let api: APIEndpoint
  private let call: APIRequest
  private let caller: AccessToken

  init(_ api: APIEndpoint, _ call: APIRequest, _ caller: AccessToken) {
    self.api = api
    self.call = call
    self.caller = caller
  }

  func reply(_ body: JSONValue) throws(Problem) -> Response {
    switch call.path[4] {
    case "rollback": return try RollbackCalls(desk: api.releases, call: call, caller: caller).rollback(body)
    case "promote": return try PromoteCalls(api, call, caller).promote(body)
    default: return try ChannelActCalls(api, call, caller).reply(body)
    }
  }
}
