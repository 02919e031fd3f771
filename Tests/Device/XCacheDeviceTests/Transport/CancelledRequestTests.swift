import DeviceApple
import DeviceLinux
import SocketServer
import System
import Testing

@testable import XCacheDevice

/// Requests that are cancelled while the server sends nothing, or nothing more.
@Suite struct CancelledRequestTests {
  static let transports: [@Sendable () -> any Transport] = [
    { CurlTransport(stallSeconds: 600) }, { URLSessionTransport(stallSeconds: 600) },
  ]

  /// A server that sends `text`, and then nothing during the test.
  private func server(_ text: String, _ asked: Locked<Int>, _ end: Monitor<Bool>) -> SocketServer {
    SocketServer { _ in
      asked.withLock { $0 += 1 }
      if !text.isEmpty { return [.send(Array(text.utf8)), .sleep(milliseconds: 60_000), .close] }
      end.waiting { $0 ? () : nil }
      return [.close]
    }
  }

  @Test(
    .timeLimit(.minutes(2)), arguments: [0, 1],
    ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"])
  func cancelledRequestsEnd(transport: Int, text: String) async throws {
    for isOneOfMany in transport == 0 ? [false, true] : [false] {
      let (asked, end, outcomes) = (Locked(0), Monitor(false), Locked<[TransportError.Kind?]>([]))
      defer { end.broadcasting { $0 = true } }
      let server = server(text, asked, end)
      let isCancelled = Locked(false)
      let used = Self.transports[transport]()
      // More than the transport has connections.
      let count = 9
      for number in 0..<count {
        _ = try OSThread(name: "asks") {
          var request = TransportRequest("\(server.url)/\(number)", limit: 100)
          request.isOneOfMany = isOneOfMany
          request.isCancelled = { isCancelled.withLock { $0 } }
          let asked = request
          let result = Result { () throws(TransportError) in try used.get(asked) { _ in true } }
          outcomes.withLock { outcomes in
            if case .failure(let error) = result { outcomes.append(error.kind) } else { outcomes.append(nil) }
          }
        }
      }
      while asked.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(1)) }
      isCancelled.withLock { $0 = true }
      while outcomes.withLock({ $0.count }) < count { try await Task.sleep(for: .milliseconds(1)) }
      #expect(outcomes.withLock { $0 } == Array(repeating: .stopped, count: count))
    }
  }
}
