import DeviceLinux
import System
import XCacheDevice

/// A device transport that logs each finished request: `GET https://…: 200, 12 ms`.
struct TracedTransport: Transport {
  let transport: any Transport
  let trace: @Sendable (String) -> Void

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try traced(request) { () throws(TransportError) in try transport.get(request, receive: receive) }
  }

  func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try traced(request) { () throws(TransportError) in
      try transport.get(request, begin: begin, receive: receive)
    }
  }

  func tell(_ document: [UInt8], to url: String) {
    trace("POST \(url)")
    transport.tell(document, to: url)
  }

  private func traced(
    _ request: TransportRequest, _ body: () throws(TransportError) -> TransportReply
  ) throws(TransportError) -> TransportReply {
    let start = Clock.monotonicNanoseconds()
    func end(_ outcome: String) {
      let milliseconds = (Clock.monotonicNanoseconds() - start) / 1_000_000
      trace("GET \(request.url): \(outcome), \(milliseconds) ms")
    }
    do {
      let reply = try body()
      end("\(reply.status)")
      return reply
    } catch {
      end(error.reason)
      throw error
    }
  }
}

extension RemoteOrigin {
  /// Returns the transport for a device of this origin; it logs requests if --verbose was given.
  func transport(connections: Int) -> any Transport {
    let transport = CurlTransport(10, 30, connections, authorities: certificates)
    return trace.map { TracedTransport(transport: transport, trace: $0) } ?? transport
  }
}
