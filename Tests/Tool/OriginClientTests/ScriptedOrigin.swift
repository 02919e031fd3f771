import HTTPClient
import OriginAPI
import OriginClient
import SocketServer
import System
import Values

/// An origin that gives the given answers in turn, repeats the last one, and records the requests.
final class ScriptedOrigin: Sendable {
  private let state: Locked<(answers: [[SocketServer.Step]], requests: [SocketServer.Request])>
  private let server: SocketServer

  init(_ answers: [SocketServer.Step]...) {
    let state = Locked((answers: answers, requests: [SocketServer.Request]()))
    self.state = state
    server = SocketServer { request in
      state.withLock { state in
        state.requests.append(request)
        return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
      }
    }
  }

  var requests: [SocketServer.Request] { state.withLock { $0.requests } }
  var url: String { server.url }

  /// A client with short delays.
  func client(token: String? = "secret", tokenSource: String? = nil) throws -> OriginClient {
    try OriginClient(server: BaseURL(server.url), token: token, tokenSource: tokenSource) { _ in
      RetryPolicy(attempts: 3, first: 1)
    }
  }

  static func json(
    _ text: String, _ fields: [(String, String)] = [], status: Int = 200
  ) -> [SocketServer.Step] {
    .answer(status, [("Content-Type", "application/json")] + fields, body: text.utf8)
  }

  static func problem(
    _ status: Int, _ code: String, _ detail: String = "why", _ fields: [(String, String)] = []
  ) -> [SocketServer.Step] {
    json(
      #"{"code":"\#(code)","detail":"\#(detail)","status":\#(status),"title":"No"}"#, fields, status: status)
  }
}

/// The error that `body` throws, or nil.
func originError(_ body: () throws(OriginError) -> Void) -> OriginError? {
  do throws(OriginError) {
    try body()
    return nil
  } catch {
    return error
  }
}
