import Foundation
import System
import XCacheDevice
import XCacheRuntime

#if !canImport(Darwin)
  import FoundationNetworking
#endif

/// Sends page requests over URLSession: HTTP/2 and HTTP/3 if the server supports them, the system's proxies and trust
/// settings, no cookies or caches of its own.
///
/// The system resolves host names. It also runs on Foundation for Linux, where its tests do; apps on Linux use
/// `CurlPageTransport`.
public final class URLSessionPageTransport: PageTransport {
  private let sessions: SessionPool

  /// Creates a transport that gives up if nothing of an answer arrives for `stallSeconds`.
  public init(stallSeconds: Int = 600, connections: Int = 6) {
    sessions = SessionPool(redirects: 0) { URLSessionTransport.configuration(stallSeconds, connections) }
  }

  /// Lets running requests go on, and makes later ones use new connections.
  public func networkChanged() { sessions.networkChanged() }

  /// Sends a request over URLSession, which decodes the codings that the system knows.
  public func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    var ask = try URLSessionTransport.ask(request.url)
    ask.httpMethod = request.method
    for field in request.headers.without(Self.ofSessions) {
      ask.setValue(field.value, forHTTPHeaderField: field.name)
    }
    var stream: (@Sendable () -> InputStream?)?
    switch request.body {
    case .none: break
    case .bytes(let bytes): ask.httpBody = Data(bytes)
    case .stream(let length, let read):
      #if canImport(Darwin)
        // Without this the body is sent in chunks, which not every server accepts.
        ask.setValue("\(length)", forHTTPHeaderField: "Content-Length")
      #endif
      stream = { BodyStream.open(length, read) }
      ask.httpBodyStream = stream?()
    }
    let (task, exchange) = sessions.begin(ask, stream: stream)
    // Ends it if the caller stops early; does nothing after its end.
    defer { task.cancel() }
    try read(exchange, of: task, request, begin, receive)
  }

  /// Headers that a session writes itself.
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
  /// Codings that systems decode if they offer them; a body in any other coding is passed on as it is.
  private static let decoded: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd"]

  /// Creates the head of a session's answer, whose body is decoded.
  init(_ response: HTTPURLResponse, of url: String) {
    let codings = (response.value(forHTTPHeaderField: "Content-Encoding") ?? "").lowercased()
      .split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
    let isDecoded = !codings.isEmpty && Self.decoded.isSuperset(of: codings)
    let gone: Set<String> = isDecoded ? ["content-encoding", "content-length"] : []
    var headers: HTTPFields = []
    for (name, value) in response.allHeaderFields {
      guard let name = name as? String, let value = value as? String, !gone.contains(name.lowercased())
      else { continue }
      if name.lowercased() == "set-cookie" {
        for cookie in SetCookie.split(value) { headers.add(name, cookie) }
      } else {
        headers.add(name, value)
      }
    }
    self.init(status: response.statusCode, headers: headers, url: url)
  }
}

/// Splits several `Set-Cookie` values that a session joins with commas.
enum SetCookie {
  /// A comma separates two cookies if a name and an equals sign follow it; in dates they don't.
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
