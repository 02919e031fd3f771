import SocketServer
import XCacheDevice

extension FakeOrigin {
  /// The answer of a server that has this origin below `/origin/` and its CDN below `/cdn/`.
  package func steps(for request: SocketServer.Request) -> [SocketServer.Step] {
    var url = request.path
    if url.hasPrefix("/origin/") { url = FakeOrigin.server + url.dropFirst("/origin".count) }
    if url.hasPrefix("/cdn/") { url = "https://cdn.test" + url.dropFirst("/cdn".count) }
    let (reply, body) = fetch(url)
    return .answer(reply?.status ?? 500, body: reply?.status == 200 ? body : reply?.failure ?? [])
  }

  /// This origin's answer.
  package func fetch(_ url: String) -> (reply: TransportReply?, body: [UInt8]) {
    var body: [UInt8] = []
    let reply = try? get(TransportRequest(url, limit: .max)) { bytes in
      bytes.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    return (reply, body)
  }
}

/// A transport under test, for which a local server is the CDN.
package struct SocketTransport<Inner: Transport>: Transport {
  package let inner: Inner
  package let url: String

  package init(_ inner: Inner, to url: String) { (self.inner, self.url) = (inner, url) }

  package func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var address = request.url
    if address.hasPrefix("https://cdn.test") {
      address = "\(url)/cdn" + address.dropFirst("https://cdn.test".count)
    }
    return try inner.get(
      TransportRequest(address, limit: request.limit, isUncoded: request.isUncoded), receive: receive)
  }
}
