import Linux
import Testing

@Suite struct SocketAddressTests {
  @Test(arguments: ["127.0.0.1:8080", "0.0.0.0:0", "[::1]:443", "[2001:db8::1]:65535"])
  func textRoundTrips(text: String) throws {
    #expect(try #require(SocketAddress(text)).description == text)
  }

  @Test(arguments: [
    "", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.256:80", "::1:80", "[::1]", "[::1:80",
    "example.com:80",
  ])
  func invalidAddresses(text: String) { #expect(SocketAddress(text) == nil) }

  @Test func localhostIsALoopbackAddress() {
    #expect(SocketAddress("localhost:80") == SocketAddress("127.0.0.1:80"))
    #expect(SocketAddress("[::]:80")?.isUnspecified == true)
    for text in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:80", "localhost:80"] {
      #expect(SocketAddress(text)?.isLoopback == true, "\(text)")
    }
    for text in ["128.0.0.1:0", "10.0.0.127:80", "[::2]:80", "[::127.0.0.1]:80", "[127::1]:80"] {
      #expect(SocketAddress(text)?.isLoopback == false, "\(text)")
    }
  }
}
