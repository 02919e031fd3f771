import HTTPClient

/// The transport on Linux: libcurl, with connections that are kept between calls.
public final class CurlTransport: Transport {
  private let client = HTTPClient()
  private let timeouts: HTTPTimeouts

  /// A transport that waits `connectSeconds` for a connection and `stallSeconds` for bytes that don't come.
  public init(connectSeconds: Int = 10, stallSeconds: Int = 30) {
    timeouts = HTTPTimeouts(connect: connectSeconds * 1000, stall: stallSeconds)
  }

  /// Fetches by libcurl: up to five redirects, gzip and zstd undone, no limit on the time as long as bytes come.
  public func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    var count: Int64 = 0
    let ask = HTTPRequest(
      "GET", request.url, fields: request.isUncoded ? [HTTPField("Accept-Encoding", "identity")] : [],
      timeouts: timeouts, redirects: 5, decodes: !request.isUncoded)
    do {
      let reply = try withoutActuallyEscaping(receive) { receive throws(HTTPClientError) in
        try client.send(
          ask,
          into: .stream(limit: request.limit) { bytes in
            count += Int64(bytes.count)
            guard receive(bytes.bytes) else { throw Stopped() }
          })
      }
      return TransportReply(
        status: reply.status, received: Self.wireBytes(of: reply) ?? count, failure: reply.body)
    } catch {
      throw TransportError(error)
    }
  }

  /// Posts by libcurl, five seconds at most.
  public func tell(_ document: [UInt8], to url: String) {
    let ask = HTTPRequest(
      "POST", url, fields: [HTTPField("Content-Type", "application/json")], body: .bytes(document),
      timeouts: HTTPTimeouts(connect: 3_000, stall: 5, total: 5_000))
    _ = try? client.send(ask, into: .memory(limit: 1 << 16))
  }

  /// Bytes of the body before it was decoded, where the server said how many.
  private static func wireBytes(of reply: HTTPReply) -> Int64? {
    reply.field("content-length").flatMap { Int64($0) }
  }

  private struct Stopped: Error {}
}

extension TransportError {
  init(_ error: HTTPClientError) {
    let kind: Kind =
      switch error {
      case .couldNotResolve, .couldNotConnect, .tls: .unreachable
      case .timedOut: .timedOut
      case .reset: .broken
      case .answerTooLong: .tooLong
      case .callback, .cancelled: .stopped
      case .badURL, .badField, .notHTTP, .redirect, .bodyEnded, .failed: .other
      }
    self.init(kind, "\(error)")
  }
}
