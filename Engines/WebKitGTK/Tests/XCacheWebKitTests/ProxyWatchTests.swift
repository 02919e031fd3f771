import Glibc
import Testing

@testable import XCacheWebKit

extension WebKitTests.LifeTests {
  /// Nothing is loaded meanwhile: it is the host's own look at the proxy that finds it dead. A second is counted in looks of the test's,
  /// which a busy machine delays as it does the host's.
  @Test func theProxysEndIsNoticedWithinASecond() async throws {
    let sites = try Sites()
    let app = try await App(sites)
    let port = try #require(app.host.proxyPort)
    for _ in 0..<5 {
      #expect(listens(port))
      app.host.killProxy()
      #expect(!listens(port))
      var looks = 0
      while looks < 40, !listens(port) {
        try await Task.sleep(for: .milliseconds(100))
        looks += 1
      }
      #expect(looks <= 10, "it listens again after \(looks) tenths of a second")
    }
    await app.end()
  }

  /// Whether anybody listens there.
  private func listens(_ port: UInt16) -> Bool {
    let end = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(end) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(end, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
