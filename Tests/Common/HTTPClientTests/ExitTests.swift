import CCrypto
import Glibc
import System
import Testing

@testable import HTTPClient

@Suite struct ExitTests {
  /// A server that isn't one of TLS: each connection ends with an error that libcrypto has to describe.
  private static func makeServer() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    try #require(isListening)
    signal(SIGPIPE, SIG_IGN)
    _ = try OSThread(name: "server") {
      while true {
        let connection = accept(listener, nil, nil)
        _ = "HTTP/1.1 400 No\r\n\r\n".withCString { write(connection, $0, strlen($0)) }
        close(connection)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// The process exits while others request: in an app that has never used libcrypto, and in one that has, which is freed by a
  /// handler of exit then.
  @Test(arguments: [false, true], [false, true])
  func exitsWhileRequestsRun(isPooled: Bool, isSecondUser: Bool) async {
    await #expect(processExitsWith: .exitCode(7)) {
      [isPooled = isPooled as Bool, isSecondUser = isSecondUser as Bool] in
      // The last handler to run, since it is the first that was registered. The threads go on meanwhile.
      atexit {
        usleep(500_000)
        _exit(7)
      }
      if isSecondUser { OPENSSL_init_crypto(UInt64(OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil) }
      let request = HTTPRequest("GET", "https://127.0.0.1:\(try Self.makeServer())/")
      let (pool, client, failures) = (HTTPPool(), HTTPClient(), Monitor(0))
      for _ in 0..<4 {
        _ = try OSThread(name: "requests") {
          while true {
            _ = isPooled ? try? pool.send(request) : try? client.send(request)
            failures.broadcasting { $0 += 1 }
          }
        }
      }
      failures.waiting { $0 >= 40 ? () : nil }
      try #require(Libcrypto.isKept != isSecondUser)
      exit(0)
    }
  }
}
