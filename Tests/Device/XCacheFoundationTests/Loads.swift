import DeviceTestSupport
import Foundation
import FoundationNetworking
import SocketServer
import System
import TestSupport

@testable import XCacheDevice
@testable import XCacheRuntime

/// A runtime that holds some files of a real server.
struct Shop {
  let scratch: Scratch
  let runtime: Runtime

  /// - Parameters:
  ///   - config: the prefetch config, as JSON.
  ///   - fetcher: sends the calls of the prefetch config.
  init(_ files: [String: [UInt8]], config: String? = nil, fetcher: PageFetcher? = nil) async throws {
    let origin = FakeOrigin()
    try origin.publish(files)
    if let config {
      origin.serve(
        Array(#"{"code":200,"data":{"config":\#(config),"version":"4"}}"#.utf8),
        at: "\(FakeOrigin.server)/prefetchConfig?app=shop&channel=online")
      origin.say(#","prefetch":"4""#)
    }
    scratch = try Scratch()
    var settings = RuntimeSettings(
      DeviceSettings(
        folder: "\(scratch.path)/device", server: FakeOrigin.server, app: "shop", hosts: ["127.0.0.1"]))
    settings.fetcher = fetcher
    runtime = try await Runtime(settings, transport: origin)
    await runtime.handle(.launch)
  }
}

/// A network in memory for prefetched calls; the test decides when it answers.
final class AheadTransport: PageTransport {
  let sent = Locked<[String]>([])
  let goes = Monitor(true)

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    sent.withLock { $0.append("\(request.method) \(request.url)") }
    goes.waiting { $0 ? () : nil }
    let head = NetworkHead(
      status: 200, headers: [("Content-Type", "application/json"), ("X-Ahead", "1")], url: request.url)
    guard begin(head), receive(Array("ahead of \(request.url)".utf8).span.bytes) else {
      throw TransportError(.stopped, "the caller ended it")
    }
  }
}

/// The cookie store of an engine with a fixed header.
struct NoCookies: CookieStore {
  let header: String?
  func header(for url: String) async -> String? { header }
  func take(_ values: [String], from url: String) async {}
}

/// Records the calls of a session's delegate for one task.
final class RecordingDelegate: NSObject, URLSessionDataDelegate, Sendable {
  struct State {
    var response: HTTPURLResponse?
    var pieces: [Data] = []
    var isOver = false
    var error: (any Error)?
  }

  let state = Monitor(State())
  private let stream: @Sendable () -> InputStream?

  init(stream: @escaping @Sendable () -> InputStream? = { nil }) { self.stream = stream }

  var body: [UInt8] { state.withLock { $0.pieces.flatMap { Array($0) } } }

  /// Waits for the end, and returns the error's code.
  @discardableResult
  func finish() -> URLError.Code? {
    let error = state.waiting { $0.isOver ? .some($0.error) : nil }
    return (error as? URLError)?.code ?? (error as NSError?).flatMap { URLError.Code(rawValue: $0.code) }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    state.broadcasting { $0.response = response as? HTTPURLResponse }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    state.broadcasting { $0.pieces.append(data) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    completionHandler(.useCredential, URLCredential(user: "a", password: "b", persistence: .none))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    completionHandler(stream())
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.broadcasting { ($0.isOver, $0.error) = (true, error) }
  }
}

/// The arguments of a completion handler.
struct Loaded: Sendable {
  var status = 0
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var code: URLError.Code?

  init(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
    let response = response as? HTTPURLResponse
    status = response?.statusCode ?? 0
    for (name, value) in response?.allHeaderFields ?? [:] {
      headers["\(name)".lowercased()] = "\(value)"
    }
    body = Array(data ?? Data())
    code = (error as? URLError)?.code ?? (error as NSError?).flatMap { URLError.Code(rawValue: $0.code) }
  }
}

extension URLSession {
  func load(_ request: URLRequest) async -> Loaded {
    await withCheckedContinuation { continuation in
      dataTask(with: request) { continuation.resume(returning: Loaded($0, $1, $2)) }.resume()
    }
  }

  func send(_ request: URLRequest, _ data: Data) async -> Loaded {
    await withCheckedContinuation { continuation in
      uploadTask(with: request, from: data) { continuation.resume(returning: Loaded($0, $1, $2)) }.resume()
    }
  }

  func send(_ request: URLRequest, _ file: URL) async -> Loaded {
    await withCheckedContinuation { continuation in
      uploadTask(with: request, fromFile: file) { continuation.resume(returning: Loaded($0, $1, $2)) }
        .resume()
    }
  }
}
