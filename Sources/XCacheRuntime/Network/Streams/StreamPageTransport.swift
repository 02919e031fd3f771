import HTTPDNS
import System
import XCacheClient

/// How connections to servers are made.
public protocol StreamNetwork: Sendable {
  /// A connection to a server, with TLS under the system's rules, for `host` by name and certificate, where `isSecure` says so.
  /// The call blocks.
  ///
  /// - Parameters:
  ///   - host: a name, or an address.
  ///   - port: 1 to 65,535.
  ///   - isSecure: whether with TLS.
  ///   - isCancelled: asked about twice a second, on the calling thread; true ends the call, which then throws `.stopped`.
  /// - Throws: `TransportError`, where there is none.
  func connect(
    to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
  ) throws(TransportError) -> any ProxyStream
}

/// Requests of pages by HTTP/1.1 over connections of a `StreamNetwork`, six to a server at a time where a `PageFetcher` makes
/// them; those that may carry another request are kept for a minute.
///
/// It offers gzip, and undoes whatever is known; where a part of a file is asked for, none is offered.
public final class StreamPageTransport: PageTransport {
  private let network: any StreamNetwork
  let stallSeconds: Int
  private let kept = Locked(KeptStreams())

  /// A transport that gives up an answer of which nothing came for `stallSeconds`.
  public init(_ network: any StreamNetwork, stallSeconds: Int = 600) {
    self.network = network
    self.stallSeconds = min(max(stallSeconds, 1), 3600)
  }

  deinit { for stream in kept.withLock({ $0.takeAll() }) { stream.close() } }

  /// Requests from now on take new connections.
  public func networkChanged() { for stream in kept.withLock({ $0.takeAll() }) { stream.close() } }

  /// Sends by HTTP/1.1. A connection that was kept and turns out to be gone is replaced by a new one.
  public func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    guard let url = RequestAddress(request.url) else {
      throw TransportError(.other, "not an http or https address: \(request.url)")
    }
    let server = url.server
    while let (stream, network) = kept.withLock({ $0.take(server, at: Clock.continuousMilliseconds()) }) {
      // What came meanwhile would be taken for the answer.
      if stream.isGone || stream.hasUnread {
        stream.close()
        continue
      }
      if try exchange(request, url, server, stream, of: network, isKept: true, begin, receive) { return }
      // It was sent, and may have been carried out: once more, on a connection that is sure to be there.
      break
    }
    let isSecure = url.scheme == "https"
    let port = url.authority.dropFirst(url.host.count + 1)
    let generation = kept.withLock { $0.network }
    let stream = try network.connect(
      to: url.host, port: Int(port) ?? (isSecure ? 443 : 80), isSecure: isSecure,
      isCancelled: request.isCancelled)
    _ = try exchange(request, url, server, stream, of: generation, isKept: false, begin, receive)
  }

  /// False where a kept connection was gone, and nothing of the request was answered.
  private func exchange(
    _ request: NetworkRequest, _ url: RequestAddress, _ server: String, _ stream: any ProxyStream,
    of network: Int, isKept: Bool, _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) -> Bool {
    var exchange = StreamExchange(request, url, stream, stallSeconds: stallSeconds)
    do throws(TransportError) {
      let keeps = try exchange.run(begin, receive)
      let isLeft =
        keeps
        && kept.withLock {
          $0.keep(stream, to: server, of: network, at: Clock.continuousMilliseconds())
        }
      if !isLeft { stream.close() }
      return true
    } catch {
      stream.close()
      if isKept, error.kind == .broken, !exchange.hasBegun { return false }
      throw error
    }
  }
}

extension ProxyStream {
  /// Whether anything is there to be read, its end included.
  fileprivate var hasUnread: Bool {
    var byte: UInt8 = 0
    return withUnsafeMutableBytes(of: &byte) { read(into: $0, within: 0) } != nil
  }
}

/// Connections that wait for their next request.
struct KeptStreams {
  private struct Kept {
    let stream: any ProxyStream
    /// Milliseconds of a clock that goes on while the system sleeps: servers don't wait for it.
    let since: Int64
  }

  private var streams: [String: [Kept]] = [:]
  /// Counts the networks that the device had.
  private(set) var network = 0

  /// Connections of one server, and of all; milliseconds for which one is kept.
  private static let perServer = 6
  private static let limit = 64
  private static let time: Int64 = 60_000

  /// The one that was used last, whose other side is most likely there still; and the network that it is of.
  mutating func take(_ server: String, at now: Int64) -> (any ProxyStream, Int)? {
    guard let last = streams[server]?.popLast() else { return nil }
    if streams[server]?.isEmpty == true { streams[server] = nil }
    if now - last.since < Self.time { return (last.stream, network) }
    // Those before it are older still.
    for old in streams.removeValue(forKey: server) ?? [] { old.stream.close() }
    last.stream.close()
    return nil
  }

  /// False where it isn't kept. Of too many, the one goes that has waited longest.
  mutating func keep(_ stream: any ProxyStream, to server: String, of network: Int, at now: Int64) -> Bool {
    guard network == self.network, streams[server]?.count ?? 0 < Self.perServer else { return false }
    for old in streams.keys { drop(old) { $0 + Self.time <= now } }
    if streams.values.reduce(0, { $0 + $1.count }) >= Self.limit,
      let oldest = streams.min(by: { ($0.value.first?.since ?? 0) < ($1.value.first?.since ?? 0) })
    {
      drop(oldest.key) { $0 == oldest.value.first?.since }
    }
    streams[server, default: []].append(Kept(stream: stream, since: now))
    return true
  }

  /// Closes connections of a server, by when they were used last.
  private mutating func drop(_ server: String, _ isOld: (Int64) -> Bool) {
    let all = streams[server] ?? []
    let rest = all.filter { !isOld($0.since) }
    guard rest.count < all.count else { return }
    for old in all where isOld(old.since) { old.stream.close() }
    streams[server] = rest.isEmpty ? nil : rest
  }

  /// All of them; what is used now isn't kept any more, either.
  mutating func takeAll() -> [any ProxyStream] {
    network += 1
    defer { streams = [:] }
    return streams.values.flatMap { $0.map(\.stream) }
  }
}
