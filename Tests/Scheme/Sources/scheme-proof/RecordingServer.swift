import CWebKit
import Foundation
import XCacheDevice
import XCacheRuntime

/// The site's server, in memory: pages from a folder, and what it notes of each request.
final class RecordingServer: PageTransport {
  private let site: String
  private let lock = NSLock()
  nonisolated(unsafe) private var noted: [String: String] = [:]
  nonisolated(unsafe) private var all: [String] = []

  init(site: String) { self.site = site }

  func forget() { lock.withLock { (noted, all) = ([:], []) } }

  /// The requests since this was last called: method, address, and whether there were cookies.
  func asked() -> [String] {
    lock.withLock {
      defer { all = [] }
      return all
    }
  }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let path = String(request.url.dropFirst("https://".count).drop { $0 != "/" }.prefix { $0 != "?" })
    let name =
      request.url.split(separator: "?").dropFirst().first.map { String($0.dropFirst("case=".count)) } ?? ""
    let hasCookies = header("cookie", request) != nil
    lock.withLock { all.append("\(request.method) \(request.url)\(hasCookies ? " with cookies" : "")") }
    var headers: HTTPFields = [("Content-Type", "text/plain;charset=utf-8")]
    if let origin = header("origin", request) { headers.add("Access-Control-Allow-Origin", origin) }
    var (status, text) = (200, Data())
    switch path {
    case "/echo":
      let answer = "\(header("content-type", request) ?? "")\n\(Self.digest(request.body))"
      lock.withLock { noted[name.removingPercentEncoding ?? ""] = answer }
      text = Data(answer.utf8)
    case "/noted":
      text = Data(
        (lock.withLock { noted[name.removingPercentEncoding?.removingPercentEncoding ?? ""] } ?? "").utf8)
    case "/cookies": text = Data((header("cookie", request) ?? "").utf8)
    case "/set":
      headers.add("Set-Cookie", "server=1; Path=/")
      headers.add("Set-Cookie", "secret=2; Path=/; HttpOnly")
    case "/moved": (status, headers) = (302, [("Location", "/blank.html")])
    case "/blank.html": (headers, text) = ([("Content-Type", "text/html")], Data("<!doctype html><p>".utf8))
    default:
      guard let file = FileManager.default.contents(atPath: site + path) else {
        status = 404
        break
      }
      let type = path.hasSuffix(".js") ? "text/javascript" : "text/html"
      (headers, text) = ([("Content-Type", type)], file)
    }
    guard begin(NetworkHead(status: status, headers: headers, url: request.url)),
      text.withUnsafeBytes({ receive($0.bytes) })
    else { throw TransportError(.stopped, "the caller ended it") }
  }

  private func header(_ name: String, _ request: NetworkRequest) -> String? {
    request.headers[name]
  }

  private static func digest(_ body: NetworkRequest.Body) -> String {
    guard case .bytes(let bytes) = body else { return "no body" }
    let text = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes, gsize(bytes.count))
    defer { g_free(text) }
    return "\(bytes.count) \(text.map { String(cString: $0) } ?? "")"
  }
}

/// An origin that nobody reaches: the device holds nothing.
struct Nobody: Transport {
  func get(_ request: TransportRequest, receive: (RawSpan) -> Bool) throws(TransportError) -> TransportReply {
    throw TransportError(.unreachable, "nobody is there")
  }
}

/// An engine's store of cookies, as far as this proof needs one.
actor Cookies: ScriptCookieStore {
  private var all: [PageCookie] = []

  func forget() { all = [] }

  func cookies(for url: String) -> [PageCookie] { all.filter { $0.isSent(to: url) } }
  func header(for url: String) -> String? { PageCookie.header(all, for: url) }

  func take(_ values: [String], from url: String) {
    let host = URL(string: url)?.host ?? ""
    for value in values {
      let fields = value.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
      let pair = fields[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
        String.init)
      guard pair.count == 2 else { continue }
      all.removeAll { $0.name == pair[0] && $0.domain == host }
      if fields.contains("max-age=0") { continue }
      let isHidden = fields.contains { $0.lowercased() == "httponly" }
      all.append(PageCookie(name: pair[0], value: pair[1], domain: host, path: "/", isHTTPOnly: isHidden))
    }
  }
}

/// An answer as a whole.
final class Collected: Sendable {
  private let lock = NSLock()
  nonisolated(unsafe) private var head: NetworkHead?
  nonisolated(unsafe) private var bytes: [UInt8] = []

  var value: (NetworkHead?, [UInt8]) { lock.withLock { (head, bytes) } }

  func begin(_ head: NetworkHead) -> Bool {
    lock.withLock { self.head = head }
    return true
  }

  func receive(_ piece: RawSpan) -> Bool {
    lock.withLock { piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return true
  }

  func failed(_ error: TransportError) {
    if ProcessInfo.processInfo.environment["SCHEME_TRACE"] != nil { print("failed: \(error)") }
    lock.withLock { head = nil }
  }
}
