import HTTPDNS
import System
import XCacheDevice

/// Makes connections to servers.
public protocol StreamNetwork: Sendable {
  /// Connects to a server; if `isSecure`, with TLS by the system's rules, checking the certificate against `host`. Blocks.
  ///
  /// - Parameters:
  ///   - host: a name or an address.
  ///   - port: 1 to 65,535.
  ///   - isSecure: whether to use TLS.
  ///   - isCancelled: called about twice a second, on the calling thread; true ends the call, which then throws `.stopped`.
  /// - Throws: `TransportError` if no connection can be made.
  func connect(
    to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
  ) throws(TransportError) -> any ProxyStream
}

/// Sends page requests by HTTP/1.1 over connections of a `StreamNetwork`, six to a server at a time if a `PageFetcher`
/// makes them; connections that can carry another request are kept for a minute.
///
/// It only offers gzip, but decodes every coding it knows; for a request for part of a file it offers none.
public final class StreamPageTransport: PageTransport {
  private let network: any StreamNetwork
  let stallSeconds: Int
  private let kept = Locked(KeptStreams())

  /// Creates a transport that gives up if nothing of an answer arrives for `stallSeconds`.
  public init(_ network: any StreamNetwork, stallSeconds: Int = 600) {
    self.network = network
    self.stallSeconds = min(max(stallSeconds, 1), 3600)
  }

  deinit { for stream in kept.withLock({ $0.takeAll() }) { stream.close() } }

  /// Closes the kept connections, so that later requests use new ones.
  public func networkChanged() { for stream in kept.withLock({ $0.takeAll() }) { stream.close() } }

  /// Sends a request by HTTP/1.1. If a kept connection turns out to be gone, it is replaced by a new one.
  public func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    guard let url = RequestAddress(request.url) else {
      throw TransportError(.other, "not an http or https address: \(request.url)")
    }
    let server = url.server
    while let (stream, network) = kept.withLock({ $0.take(server, at: Clock.continuousMilliseconds()) }) {
      // Unread bytes would be taken for the response.
      if stream.isGone || stream.hasUnread {
        stream.close()
        continue
      }
      if try exchange(request, url, server, stream, of: network, isKept: true, begin, receive) { return }
      // The request was sent and may have been carried out, so retry only once, on a new connection.
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

  /// Returns false if a kept connection was gone and no response had started.
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
  /// Whether there is anything to read, including the end of the stream.
  fileprivate var hasUnread: Bool {
    var byte: UInt8 = 0
    return withUnsafeMutableBytes(of: &byte) { read(into: $0, within: 0) } != nil
  }
}

/// Idle connections that wait for their next request.
struct KeptStreams {
  private struct Kept {
    let stream: any ProxyStream
    /// In milliseconds of a clock that keeps running while the system sleeps, since servers' timeouts do too.
    let since: Int64
  }

  private var streams: [String: [Kept]] = [:]
  /// Counts the networks that the device has used.
  private(set) var network = 0

  /// The most connections of one server, and of all servers; the milliseconds for which one is kept.
  private static let perServer = 6
  private static let limit = 64
  private static let time: Int64 = 60_000

  /// Takes the connection used last, which is most likely still alive, and the network that it belongs to.
  mutating func take(_ server: String, at now: Int64) -> (any ProxyStream, Int)? {
    guard let last = streams[server]?.popLast() else { return nil }
    if streams[server]?.isEmpty == true { streams[server] = nil }
    if now - last.since < Self.time { return (last.stream, network) }
    // The ones before it are older still.
    for old in streams.removeValue(forKey: server) ?? [] { old.stream.close() }
    last.stream.close()
    return nil
  }

  /// Keeps a connection; returns false if it isn't kept. If there are too many, the one idle for longest is closed.
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

  /// Closes connections of a server, by when they were last used.
  private mutating func drop(_ server: String, _ isOld: (Int64) -> Bool) {
    let all = streams[server] ?? []
    let rest = all.filter { !isOld($0.since) }
    guard rest.count < all.count else { return }
    for old in all where isOld(old.since) { old.stream.close() }
    streams[server] = rest.isEmpty ? nil : rest
  }

  /// Removes and returns all connections; those in use now won't be kept either.
  mutating func takeAll() -> [any ProxyStream] {
    network += 1
    defer { streams = [:] }
    return streams.values.flatMap { $0.map(\.stream) }
  }
}
