import HTTP
import System
import XCacheDevice

@testable import XCacheRuntime

/// A minimal cookie store of an engine: each cookie is sent from then on, everywhere or only to the URL that set it.
package final class FakeCookies: CookieStore {
  private let cookies: Locked<[String]>
  private let isPerURL: Bool
  private let all = Locked<[(url: String, value: String)]>([])

  package init(_ cookies: [String], isPerURL: Bool = false) {
    self.cookies = Locked(cookies)
    self.isPerURL = isPerURL
  }

  /// Replaces all cookies, as when another user signs in, or with none, the user signs out.
  package func replace(_ cookies: [String]) {
    self.cookies.withLock { $0 = cookies }
    all.withLock { $0 = [] }
  }

  /// Every `Set-Cookie`, in order.
  package var taken: [String] { all.withLock { $0.map(\.value) } }

  package func header(for url: String) async -> String? {
    let own = all.withLock { $0.filter { !isPerURL || $0.url == url }.map(\.value) }
    let all = cookies.withLock { $0 } + own
    return all.isEmpty ? nil : all.joined(separator: "; ")
  }

  package func take(_ values: [String], from url: String) async {
    all.withLock { $0 += values.map { (url, $0) } }
  }
}

/// A network in memory: records requests, and answers each with its URL.
package final class FakePageTransport: PageTransport {
  package struct Sent: Equatable {
    package let method: String
    package let url: String
    package let headers: [String: String]
    package let body: [UInt8]
  }

  private let work: @Sendable (NetworkRequest) throws(TransportError) -> Void
  private let setsCookies: Bool
  private let all = Locked<[Sent]>([])
  private let changes = Locked(0)

  /// How often the network changed.
  package var networks: Int { changes.withLock { $0 } }

  package func networkChanged() { changes.withLock { $0 += 1 } }

  package init(
    setsCookies: Bool = true,
    _ work: @escaping @Sendable (NetworkRequest) throws(TransportError) -> Void = { _ in }
  ) {
    self.work = work
    self.setsCookies = setsCookies
  }

  package var sent: [Sent] { all.withLock { $0 } }

  package func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    var body: [UInt8] = []
    if case .bytes(let bytes) = request.body { body = bytes }
    let headers = Dictionary(request.headers.map { ($0.name.lowercased(), $0.value) }) { a, _ in a }
    let sent = Sent(method: request.method, url: request.url, headers: headers, body: body)
    all.withLock { $0.append(sent) }
    try work(request)
    if request.isCancelled() { throw TransportError(.stopped, "cancelled") }
    var answered: HTTPFields = [("Content-Type", "application/json")]
    if setsCookies { answered.add("Set-Cookie", "of=\(request.url)") }
    let head = NetworkHead(
      status: request.url.hasSuffix("missing") ? 404 : 200, headers: answered, url: request.url)
    guard begin(head), receive(Array("answer of \(request.url)".utf8).span.bytes) else {
      throw TransportError(.stopped, "the caller ended it")
    }
  }
}

/// A complete answer.
package struct Collected: Sendable {
  package typealias Begin = @Sendable (NetworkHead) -> Bool
  package typealias Receive = @Sendable (RawSpan) -> Bool

  package var head: NetworkHead?
  package var body: [UInt8] = []
  package var error: TransportError?

  package static func fetch(
    _ request: NetworkRequest, by fetcher: PageFetcher, redirects: PageFetcher.Redirects = .follow
  ) async -> Collected {
    await of { begin, receive throws(TransportError) in
      try await fetcher.fetch(request, redirects: redirects, begin: begin, receive: receive)
    }
  }

  /// Collects what `work` passes to the closures, or its error.
  package static func of(
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
