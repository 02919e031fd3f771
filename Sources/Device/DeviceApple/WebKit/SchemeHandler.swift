#if canImport(WebKit)
  import Foundation
  import System
  import WebKit
  import XCacheDevice
  import XCacheRuntime

  /// Passes requests of pages on the custom scheme to the runtime, and the answers to the engine. The engine retains it; it
  /// retains no view.
  @MainActor
  final class SchemeHandler: NSObject, WKURLSchemeHandler {
    private let scheme: PageScheme
    /// The page whose view it serves.
    weak var page: WebPage?
    private var tasks = LiveTasks<ObjectIdentifier, any WKURLSchemeTask>()
    private var work: [Int: Task<Void, Never>] = [:]

    init(_ scheme: PageScheme) { self.scheme = scheme }

    func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask) {
      let number = tasks.start(ObjectIdentifier(urlSchemeTask), urlSchemeTask)
      let asked = urlSchemeTask.request
      guard var request = PageRequest(asked) else { return end(number, URLError(.badURL)) }
      let isDocument = request.destination == .document
      request.page = isDocument ? page?.opening : page?.shown ?? page?.opening
      // The engine only has the bodies of forms without files; the scripts hand over all others outside the request.
      let type = asked.value(forHTTPHeaderField: "Content-Type") ?? ""
      let isPlainForm = type.lowercased().hasPrefix("application/x-www-form-urlencoded")
      let body = isPlainForm ? asked.httpBody.map { Array($0) } : nil
      let relay = SchemeRelay { [weak self] step in self?.take(step, number) }
      let (scheme, sent, main) = (scheme, request, asked.mainDocumentURL?.absoluteString)
      work[number] = Task {
        let error: TransportError?
        do throws(TransportError) {
          try await scheme.answer(sent, body: body, mainDocument: main) {
            relay.begin($0)
          } receive: {
            relay.receive($0)
          }
          error = nil
        } catch let failure {
          error = failure
        }
        relay.end(error)
      }
      // A step that arrived before this line still found the task.
      if tasks[number] == nil { work[number] = nil }
    }

    func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask) {
      guard let number = tasks.stop(ObjectIdentifier(urlSchemeTask)) else { return }
      work.removeValue(forKey: number)?.cancel()
    }

    /// - Returns: whether the engine wants more.
    private func take(_ step: SchemeRelay.Step, _ number: Int) -> Bool {
      guard let task = tasks[number] else { return false }
      switch step {
      case .head(let head):
        guard let url = URL(string: head.url),
          let response = HTTPURLResponse(
            url: url, statusCode: head.status, httpVersion: "HTTP/1.1", headerFields: head.headers.dictionary)
        else {
          end(number, URLError(.badServerResponse))
          return false
        }
        task.didReceive(response)
      case .bytes(let bytes): task.didReceive(bytes)
      case .end(let error): end(number, error.map { _ in URLError(.networkConnectionLost) })
      }
      return true
    }

    private func end(_ number: Int, _ error: URLError?) {
      work[number] = nil
      guard let task = tasks.finish(number) else { return }
      if let error { task.didFailWithError(error) } else { task.didFinish() }
    }
  }

  /// Passes the steps of an answer to the main actor in order. The thread that delivers them waits while a megabyte is on
  /// its way.
  final class SchemeRelay: Sendable {
    enum Step: Sendable {
      case head(NetworkHead)
      case bytes(Data)
      case end(TransportError?)
    }

    private struct State {
      var waiting = 0
      var isOver = false
    }

    private static let maxWaiting = 1 << 20

    private let state = Monitor(State())
    private let take: @MainActor @Sendable (Step) -> Bool

    /// - Parameter take: handles a step; returns false if no more is wanted.
    init(_ take: @escaping @MainActor @Sendable (Step) -> Bool?) { self.take = { take($0) ?? false } }

    func begin(_ head: NetworkHead) -> Bool { pass(.head(head), 0) }

    func receive(_ bytes: RawSpan) -> Bool {
      let piece = bytes.withUnsafeBytes { Data($0) }
      let isWanted = state.waiting(for: .seconds(120)) { state -> Bool? in
        if state.isOver { return false }
        return state.waiting < Self.maxWaiting ? true : nil
      }
      return isWanted == true && pass(.bytes(piece), piece.count)
    }

    func end(_ error: TransportError?) { _ = pass(.end(error), 0) }

    private func pass(_ step: Step, _ count: Int) -> Bool {
      let isOver = state.withLock { state -> Bool in
        state.waiting += count
        return state.isOver
      }
      if isOver { return false }
      // A queue keeps their order; tasks on the main actor needn't.
      DispatchQueue.main.async { [self] in
        let isWanted = MainActor.assumeIsolated { take(step) }
        state.broadcasting { state in
          state.waiting -= count
          if !isWanted { state.isOver = true }
        }
      }
      return true
    }
  }

  extension PageRequest {
    /// Converts the request that an engine passes to a scheme's handler; nil if it has no URL.
    init?(_ request: URLRequest) {
      guard let url = request.url else { return nil }
      let headers = HTTPFields(request.allHTTPHeaderFields ?? [:])
      self.init(
        url.absoluteString, method: request.httpMethod ?? "GET", headers: headers, hasCredentials: true)
      func header(_ name: String) -> String? { request.value(forHTTPHeaderField: name)?.lowercased() }
      switch header("Sec-Fetch-Dest") {
      case "document": destination = .document
      case "iframe", "frame": destination = .frame
      case "script": destination = .script
      case "style": destination = .style
      case "image": destination = .image
      case "font": destination = .font
      case "empty": destination = .fetch
      // Engines only send this in navigations. The document of a view is its own main document.
      case nil where header("Accept")?.hasPrefix("text/html") ?? false:
        destination = request.mainDocumentURL == url ? .document : .frame
      case nil: destination = .other
      default: destination = .other
      }
      switch header("Sec-Fetch-Mode") {
      case "navigate": mode = .navigate
      case "no-cors": mode = .noCORS
      case "same-origin": mode = .sameOrigin
      // If the mode isn't known, an answer of another origin needs that origin's permission.
      default: mode = destination == .document || destination == .frame ? .navigate : .cors
      }
    }
  }
#endif
