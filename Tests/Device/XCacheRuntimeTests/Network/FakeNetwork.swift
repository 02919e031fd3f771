import System
import XCacheDevice

@testable import XCacheRuntime

/// A minimal cookie store of an engine: each cookie is sent from then on, everywhere or only to the URL that set it.
final class FakeCookies: CookieStore {
  private let cookies: Locked<[String]>
  private let isPerURL: Bool
  private let all = Locked<[(url: String, value: String)]>([])

  init(_ cookies: [String], isPerURL: Bool = false) {
    self.cookies = Locked(cookies)
    self.isPerURL = isPerURL
  }

  /// Replaces all cookies, as when another user signs in, or with none, the user signs out.
  func replace(_ cookies: [String]) {
    self.cookies.withLock { $0 = cookies }
    all.withLock { $0 = [] }
  }

  /// Every `Set-Cookie`, in order.
  var taken: [String] { all.withLock { $0.map(\.value) } }

  func header(for url: String) async -> String? {
    let own = all.withLock { $0.filter { !isPerURL || $0.url == url }.map(\.value) }
    let all = cookies.withLock { $0 } + own
    return all.isEmpty ? nil : all.joined(separator: "; ")
  }

  func take(_ values: [String], from url: String) async {
    all.withLock { $0 += values.map { (url, $0) } }
  }
}

/// A network in memory: records requests, and answers each with its URL.
final class FakePageTransport: PageTransport {
  struct Sent: Equatable {
    let method: String
    let url: String
    let headers: [String: String]
    let body: [UInt8]
  }

  private let work: @Sendable (NetworkRequest) throws(TransportError) -> Void
  private let setsCookies: Bool
  private let all = Locked<[Sent]>([])
  private let changes = Locked(0)

  /// How often the network changed.
  var networks: Int { changes.withLock { $0 } }

  func networkChanged() { changes.withLock { $0 += 1 } }

  init(
    setsCookies: Bool = true,
    _ work: @escaping @Sendable (NetworkRequest) throws(TransportError) -> Void = { _ in }
  ) {
    self.work = work
    self.setsCookies = setsCookies
  }

  var sent: [Sent] { all.withLock { $0 } }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    var body: [UInt8] = []
    if case .bytes(let bytes) = request.body { body = bytes }
    let headers = Dictionary(request.headers.map { ($0.name.lowercased(), $0.value) }) { a, _ in a }
    let sent = Sent(method: request.method, url: request.url, headers: headers, body: body)
    all.withLock { $0.append(sent) }
    try work(request)
    if request.isCancelled() { throw TransportError(.stopped, "cancelled") }
    let head = NetworkHead(
      status: request.url.hasSuffix("missing") ? 404 : 200,
      headers: [("Content-Type", "application/json")]
        + (setsCookies ? [("Set-Cookie", "of=\(request.url)")] : []),
      url: request.url)
    guard begin(head), receive(Array("answer of \(request.url)".utf8).span.bytes) else {
      throw TransportError(.stopped, "the caller ended it")
    }
  }
}

/// A complete answer.
struct Collected: Sendable {
  typealias Begin = @Sendable (NetworkHead) -> Bool
  typealias Receive = @Sendable (RawSpan) -> Bool

  var head: NetworkHead?
  var body: [UInt8] = []
  var error: TransportError?

  static func fetch(
    _ request: NetworkRequest, by fetcher: PageFetcher, redirects: PageFetcher.Redirects = .follow
  ) async -> Collected {
    await of { begin, receive throws(TransportError) in
      try await fetcher.fetch(request, redirects: redirects, begin: begin, receive: receive)
    }
  }

  /// Collects what `work` passes to the closures, or its error.
  static func of(
    _ work: (@escaping Begin, @escaping Receive) async throws(TransportError) -> Void
  ) async -> Collected {
    let state = Locked(Collected())
    do throws(TransportError) {
      try await work { head in
        state.withLock { $0.head = head }
        return true
      } _: { bytes in
        state.withLock { state in bytes.withUnsafeBytes { state.body.append(contentsOf: $0) } }
        return true
      }
    } catch {
      state.withLock { $0.error = error }
    }
    return state.withLock { $0 }
  }
}
