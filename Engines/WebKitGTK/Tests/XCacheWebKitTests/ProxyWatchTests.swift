import Glibc
import Testing

@testable import XCacheWebKit

extension WebKitTests.LifeTests {
  /// Nothing is loaded meanwhile: the host's own check finds the proxy ended. The second is counted in checks of the
  /// test, which a busy machine delays like the host's.
  @Test func proxyIsRestartedWithinASecond() async throws {
    let sites = try Sites()
    let app = try await App(sites)
    let port = try #require(app.host.proxyPort)
    for _ in 0..<5 {
      #expect(listens(port))
      app.host.killProxy()
      #expect(!listens(port))
      var checks = 0
      while checks < 40, !listens(port) {
        try await Task.sleep(for: .milliseconds(100))
        checks += 1
      }
      #expect(checks <= 10, "it listens again after \(checks) tenths of a second")
    }
    await app.end()
  }

  /// Whether a process listens on the port.
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
