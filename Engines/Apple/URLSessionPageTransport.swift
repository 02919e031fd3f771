import Foundation
import System
import XCacheClient
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Requests of pages over URLSession: HTTP/2 and HTTP/3 where the server has them, the system's proxies and trust, no cookies
/// and caches of its own.
///
/// Where hosts are, the system says. It also runs on Linux's Foundation, where its tests do; an app on Linux takes
/// `CurlPageTransport`.
public final class URLSessionPageTransport: PageTransport {
  private let sessions: SessionPool

  /// A transport that gives up an answer of which nothing came for `stallSeconds`.
  public init(stallSeconds: Int = 600, connections: Int = 6) {
    sessions = SessionPool(redirects: 0) { URLSessionTransport.configuration(stallSeconds, connections) }
  }

  /// What is under way goes on; requests from now on take new connections.
  public func networkChanged() { sessions.networkChanged() }

  /// Sends by URLSession, which undoes the codings that the system knows.
  public func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    var ask = try URLSessionTransport.ask(request.url)
    ask.httpMethod = request.method
    for (name, value) in request.headers where !Self.ofSessions.contains(name.lowercased()) {
      ask.setValue(value, forHTTPHeaderField: name)
    }
    var stream: (@Sendable () -> InputStream?)?
    switch request.body {
    case .none: break
    case .bytes(let bytes): ask.httpBody = Data(bytes)
    case .stream(let length, let read):
      #if canImport(Darwin)
        // Without it the body goes out in chunks, which not every server takes.
        ask.setValue("\(length)", forHTTPHeaderField: "Content-Length")
      #endif
      stream = { BodyStream.open(length, read) }
      ask.httpBodyStream = stream?()
    }
    let (task, exchange) = sessions.begin(ask, stream: stream)
    // Ends it where the caller has had enough; after its end it does nothing.
    defer { task.cancel() }
    try read(exchange, of: task, request, begin, receive)
  }

  /// What a session writes itself.
  private static let ofSessions: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "transfer-encoding",
  ]

  private func read(
    _ exchange: SessionExchange, of task: URLSessionDataTask, _ request: NetworkRequest,
    _ begin: (NetworkHead) -> Bool, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let stopped = TransportError(.stopped, "the caller ended it")
    while true {
      guard let step = exchange.next(within: .seconds(1), of: task) else {
        if request.isCancelled() { throw stopped }
        continue
      }
      switch step {
      case .head(let response): guard begin(NetworkHead(response, of: request.url)) else { throw stopped }
      case .bytes(let bytes):
        guard !request.isCancelled(), bytes.withUnsafeBytes({ receive($0.bytes) }) else { throw stopped }
      case .end(let error?): throw TransportError(error, host: task.originalRequest?.url?.host ?? "")
      case .end(nil): return
      }
    }
  }
}

extension NetworkHead {
  /// What systems decode, where they offer it; a body of any other coding they hand on as it is.
  private static let decoded: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]

  /// The head of a session's answer, whose body is decoded.
  init(_ response: HTTPURLResponse, of url: String) {
    let codings = (response.value(forHTTPHeaderField: "Content-Encoding") ?? "").lowercased()
      .split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
    let isDecoded = !codings.isEmpty && Self.decoded.isSuperset(of: codings)
    let gone: Set<String> = isDecoded ? ["content-encoding", "content-length"] : []
    var headers: [(name: String, value: String)] = []
    for (name, value) in response.allHeaderFields {
      guard let name = name as? String, let value = value as? String, !gone.contains(name.lowercased())
      else { continue }
      if name.lowercased() == "set-cookie" {
        headers += SetCookie.split(value).map { (name, $0) }
      } else {
        headers.append((name, value))
      }
    }
    self.init(status: response.statusCode, headers: headers, url: url)
  }
}

/// The values of several `Set-Cookie` that a session gives as one, with commas between.
enum SetCookie {
  /// A comma is one of theirs where a name and an equals sign follow it; in a date there are none.
  static func split(_ text: String) -> [String] {
    var values: [String] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let trimmed = part.drop { $0 == " " }
      if let last = values.last, !startsCookie(trimmed) {
        values[values.count - 1] = "\(last),\(part)"
      } else {
        values.append(String(trimmed))
      }
    }
    return values
  }

  private static func startsCookie(_ text: Substring) -> Bool {
    let name = text.prefix { $0 != "=" && $0 != ";" }
    guard !name.isEmpty, name.endIndex < text.endIndex, text[name.endIndex] == "=" else { return false }
    return name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
  }
}
