import HTTP
import HTTPClient
import System
import Values
import XCacheDevice

/// How a sampled device sends its requests: over libcurl, each from a network of its own as far as an origin can tell that trusts the
/// `X-Forwarded-For` of this host.
final class FleetTransport: Transport {
  private let client: HTTPClient
  private let sent: FleetSent
  private let network: @Sendable () -> FleetNetwork

  init(_ client: HTTPClient, _ sent: FleetSent, from network: @escaping @Sendable () -> FleetNetwork) {
    (self.client, self.sent, self.network) = (client, sent, network)
  }

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try get(request, begin: { _ in true }, receive: receive)
  }

  func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var fields = request.headers
    fields.add("X-Forwarded-For", "\(network().address)")
    let message = HTTPRequest(
      "GET", request.url, fields: fields,
      timeouts: HTTPTimeouts(connectMilliseconds: 10_000, stallSeconds: 30), redirects: 5,
      decodes: !request.isUncoded)
    let reply: HTTPReply
    do {
      reply = try client.send(message, into: .memory(limit: Int(clamping: min(request.limit, 64 << 20))))
    } catch {
      throw TransportError(.unreachable, "\(error)")
    }
    sent.note(poll: request.url, status: reply.status)
    guard reply.isSuccess else {
      return TransportReply(status: reply.status, received: Int64(reply.body.count), failure: reply.body)
    }
    guard let head = TransportHead(status: reply.status, asked: request.start, field: { reply.fields[$0] }),
      begin(head), receive(reply.body.span.bytes)
    else { throw TransportError(.stopped, "it isn't what was asked for") }
    return TransportReply(status: reply.status, received: Int64(reply.body.count))
  }

  func tell(_ document: [UInt8], to url: String) {
    let network = network()
    let message = HTTPRequest(
      "POST", url,
      fields: [("Content-Type", "application/json"), ("X-Forwarded-For", "\(network.address)")],
      body: .bytes(document), timeouts: HTTPTimeouts(connectMilliseconds: 3_000, stallSeconds: 5))
    let status = (try? client.send(message))?.status
    sent.note(report: document, network, at: Clock.unixMilliseconds(), status: status)
  }
}
