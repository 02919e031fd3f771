import SocketServer
import System

/// A proxy in front of an origin that loses the first answer to each changing request: the origin has acted, but the client doesn't know.
final class LosingProxy: Sendable {
  enum Loss: String, Sendable, CaseIterable {
    /// The connection is reset.
    case reset
    /// The proxy answers that it got no response.
    case badGateway = "502"
  }

  /// The identity of a request; retries have the same.
  private struct RequestIdentity: Hashable {
    let method: String
    let path: String
    let body: SHA256
  }

  private final class State: Sendable {
    let identities = Locked<Set<RequestIdentity>>([])
    let lost = Locked<[String]>([])
  }

  private let state = State()
  private let server: SocketServer

  var url: String { server.url }

  /// The requests whose answer was lost so far, such as `POST releases`.
  var lost: [String] { state.lost.withLock { $0 } }

  /// - Parameters:
  ///   - port: the origin's port.
  /// - port: the origin's port.
  init(to port: UInt16, _ loss: Loss, losing: @escaping @Sendable (SocketServer.Request) -> Void = { _ in }) {
    let state = self.state
    server = SocketServer { request in
      guard let answer = LosingProxy.forward(request, to: port) else { return [.reset] }
      let identity = RequestIdentity(
        method: request.method, path: request.path, body: SHA256.of(request.body))
      let isFirst = state.identities.withLock { $0.insert(identity).inserted }
      guard isFirst, !["GET", "HEAD"].contains(request.method) else { return [.send(answer)] }
      losing(request)
      state.lost.withLock { $0.append("\(request.method) \(request.path)") }
      switch loss {
      case .reset: return [.reset]
      case .badGateway: return .answer(502, body: "the origin gave no answer".utf8)
      }
    }
  }

  /// The origin's whole answer, or nil if there is none within 10 seconds, in which the origin may be restarted.
  private static func forward(_ request: SocketServer.Request, to port: UInt16) -> [UInt8]? {
    var head = "\(request.method) \(request.path) HTTP/1.1\r\n"
    for (name, value) in request.fields where !["connection", "expect"].contains(name) {
      head += "\(name): \(value)\r\n"
    }
    var answer: [UInt8]?
    _ = Wait.until(10) {
      guard let socket = try? WebSocket(port) else { return false }
      socket.send(Array((head + "Connection: close\r\n\r\n").utf8) + request.body)
      guard let bytes = try? socket.receiveAll(), !bytes.isEmpty else { return false }
      answer = bytes
      return true
    }
    return answer
  }
}
