import XCacheDevice
import XCacheRuntime

/// Sends the page requests that the device doesn't answer: directly, slowed down, or not at all.
struct LookTransport: PageTransport {
  let base: any PageTransport
  let isOffline: Bool
  let isConfined: Bool
  let line: Line?

  private static let missing = Array("The build has no such file.\n".utf8)

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    if isConfined {
      let headers: HTTPFields = [("Content-Type", "text/plain"), ("Content-Length", "\(Self.missing.count)")]
      guard begin(NetworkHead(status: 404, headers: headers, url: request.url)),
        receive(Self.missing.span.bytes)
      else { throw TransportError(.stopped, "the page doesn't want it") }
      return
    }
    if isOffline { throw TransportError(.unreachable, "there is no network") }
    guard let line else { return try base.send(request, begin: begin, receive: receive) }
    try base.send(
      request,
      begin: { head in
        line.wait()
        return begin(head)
      },
      receive: { bytes in
        line.carry(bytes.byteCount)
        return receive(bytes)
      })
  }
}

/// Fetches files that the release lists and the folder lacks, the only thing that the runtime may ask for.
struct FileTransport: Transport {
  let base: any Transport
  let isOffline: Bool
  let line: Line?

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try get(request, begin: { _ in true }, receive: receive)
  }

  func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    if isOffline { throw TransportError(.unreachable, "there is no network") }
    guard let line else { return try base.get(request, begin: begin, receive: receive) }
    return try base.get(
      request,
      begin: { head in
        line.wait()
        return begin(head)
      },
      receive: { bytes in
        line.carry(bytes.byteCount)
        return receive(bytes)
      })
  }
}
