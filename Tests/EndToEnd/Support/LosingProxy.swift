import SocketServer
import System

/// A proxy on the way to an origin that loses the first answer to each changing request: the origin has done what it
/// was asked, and whoever asked doesn't know.
final class LosingProxy: Sendable {
  enum Loss: String, Sendable, CaseIterable {
    /// The connection breaks.
    case reset
    /// The proxy says that it got no answer.
    case badGateway = "502"
  }

  /// What a request is told apart by; a retry has the same.
  private struct Seen: Hashable {
    let method: String
    let path: String
    let body: SHA256
  }

  private final class State: Sendable {
    let seen = Locked<Set<Seen>>([])
    let lost = Locked<[String]>([])
  }

  private let state = State()
  private let server: SocketServer

  var url: String { server.url }

  /// The requests whose answer was lost so far, as `POST releases`.
  var lost: [String] { state.lost.withLock { $0 } }

  /// - Parameters:
  ///   - port: where the origin listens.
  ///   - losing: run before an answer is lost, on the request's own thread.
  init(to port: UInt16, _ loss: Loss, losing: @escaping @Sendable (SocketServer.Request) -> Void = { _ in }) {
    let state = self.state
    server = SocketServer { request in
      guard let answer = LosingProxy.forward(request, to: port) else { return [.reset] }
      let seen = Seen(method: request.method, path: request.path, body: SHA256.of(request.body))
      let isFirst = state.seen.withLock { $0.insert(seen).inserted }
      guard isFirst, !["GET", "HEAD"].contains(request.method) else { return [.send(answer)] }
      losing(request)
      state.lost.withLock { $0.append("\(request.method) \(request.path)") }
      switch loss {
      case .reset: return [.reset]
      case .badGateway: return .answer(502, body: "the origin gave no answer".utf8)
      }
    }
  }

  /// The origin's whole answer; nil where it gave none within 10 seconds, in which it may be started again.
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
