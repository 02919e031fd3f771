import CWebKit
import Foundation
import XCacheDevice
import XCacheRuntime

/// Pages on the custom scheme in a real WebKit: each kind of body by each way, cookies, redirects, and what doesn't work there.
@main
enum Proof {
  static func main() async throws {
    let words = CommandLine.arguments
    let rounds = words.count > 2 ? Int(words[2]) ?? 1 : 1
    try await Engine.prepare(site: words[1])
    let failures = Engine.run(rounds: rounds) + Engine.runHostile()
    exit(failures == 0 ? 0 : 1)
  }
}

/// The engine, on the one thread that GTK lives on.
enum Engine {
  struct Parts {
    let scheme: PageScheme
    let server: RecordingServer
    let cookies: Cookies
    let hosts: String
    /// The folder of pages.
    let site: String
  }

  nonisolated(unsafe) static var parts: Parts?
  nonisolated(unsafe) static var results: [[String]]?
  nonisolated(unsafe) static var trouble: String?

  static func prepare(site: String) async throws {
    let folder = NSTemporaryDirectory() + "/scheme-device-\(getpid())"
    let hosts = ["m.example.com", "api.example.com"]
    let settings = DeviceSettings(folder: folder, server: "https://origin.example", app: "shop", hosts: hosts)
    let runtime = try await Runtime(RuntimeSettings(settings), transport: Nobody())
    let (server, cookies) = (RecordingServer(site: site), Cookies())
    let scheme = PageScheme(runtime, fetcher: PageFetcher(server, cookies: cookies), cookies: cookies)
    parts = Parts(
      scheme: scheme, server: server, cookies: cookies, hosts: hosts.joined(separator: " "), site: site)
  }

  /// GTK, and the scheme in an engine of its own.
  nonisolated(unsafe) private static let context: UnsafeMutablePointer<WebKitWebContext> = {
    guard gtk_init_check(nil, nil) != 0, let context = webkit_web_context_new_ephemeral() else {
      fatalError("WebKit needs a display")
    }
    xs_register(context, CustomScheme.https) { request, url, method, headers in
      if let request, let url, let method, let headers {
        Engine.answer(request, String(cString: url), String(cString: method), String(cString: headers))
      }
    }
    return context
  }()

  /// Whose messages they are. WebKitGTK doesn't say which frame one is from; those of an address's own page come from its origin.
  nonisolated(unsafe) private static var origin = ""

  /// Opens a page in a view of its own, with what an app puts into all pages, until it tells its results; nil: it came to no end.
  static func show(_ address: String) -> [[String]]? {
    guard let parts else { return nil }
    (results, trouble) = (nil, nil)
    origin = address.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
    let manager = webkit_user_content_manager_new()
    for source in SchemeScripts.all(hosts: parts.hosts) { xs_inject(manager, source) }
    xs_listen(manager, SchemeScripts.messages) { text in
      guard let text, let parts = Engine.parts else { return }
      let (message, origin) = (String(cString: text), Engine.origin)
      Task { await parts.scheme.receive(message, from: origin) }
    }
    xs_listen(manager, "proof") { text in
      let data = Data((text.map { String(cString: $0) } ?? "").utf8)
      Engine.results = (try? JSONSerialization.jsonObject(with: data)) as? [[String]]
    }
    let view = xs_view(context, manager) { Engine.trouble = $0.map { String(cString: $0) } }
    webkit_web_view_load_uri(view, address)
    let end = Date(timeIntervalSinceNow: 120)
    while results == nil, trouble == nil, Date() < end { g_main_context_iteration(nil, 1) }
    xs_close(view)
    g_object_unref(manager)
    return results
  }

  /// Forgets what earlier pages left at the server and in the store of cookies.
  static func forget() {
    guard let parts else { return }
    parts.server.forget()
    let isForgotten = DispatchSemaphore(value: 0)
    Task {
      await parts.cookies.forget()
      isForgotten.signal()
    }
    isForgotten.wait()
  }

  /// Opens the page so many times, each in a view of its own, and prints what differs from the expected.
  /// - Returns: how many cases did.
  static func run(rounds: Int) -> Int {
    var failures = 0
    for round in 1...rounds {
      forget()
      // Long bodies once: they take most of the time.
      _ = show("xcache-https://m.example.com/index.html" + (round > 1 ? "?short" : ""))
      failures += judge(round)
    }
    return failures
  }

  private static func judge(_ round: Int) -> Int {
    guard let results else {
      print("round \(round): \(trouble ?? "the page came to no end")")
      return 1
    }
    var failed = 0
    for result in results where result.count == 2 {
      let isLimit = result[0].hasPrefix("limit: ")
      let isRight = isLimit ? limits[result[0]] == result[1] : result[1] == "ok"
      if !isRight { failed += 1 }
      if !isRight || round == 1 {
        print("\(isRight ? "ok  " : "FAIL") \(result[0])\(result[1] == "ok" ? "" : ": " + result[1])")
      }
    }
    print("round \(round): \(results.count) cases, \(failed) failed")
    return failed + (results.count < 99 ? 1 : 0)
  }

  /// Expected failures.
  static let limits = [
    "limit: a worker's string": "refused", "limit: a worker's Blob": "refused",
    "limit: the address after a redirect of a fetch": "xcache-https://m.example.com/moved <!doctype html><p>",
  ]

  private static func answer(
    _ request: UnsafeMutablePointer<WebKitURISchemeRequest>, _ url: String, _ method: String, _ lines: String
  ) {
    nonisolated(unsafe) let request = request
    guard let scheme = parts?.scheme else { return }
    var headers = HTTPFields()
    for line in lines.split(separator: "\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers.add(
        String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
    if ProcessInfo.processInfo.environment["SCHEME_TRACE"] != nil {
      print("\(method) \(url) \(headers.map { "\($0.name)=\($0.value)" })")
    }
    var asked = PageRequest(url, method: method, headers: headers, hasCredentials: true)
    let accept = headers["accept"] ?? ""
    if accept.hasPrefix("text/html") {
      (asked.destination, asked.mode) = (.frame, .navigate)
    } else {
      asked.mode = .cors
    }
    let (sent, main) = (asked, xs_main_document(request).map { String(cString: $0) })
    Task {
      let collected = Collected()
      do throws(TransportError) {
        try await scheme.answer(sent, mainDocument: main) {
          collected.begin($0)
        } receive: {
          collected.receive($0)
        }
      } catch {
        collected.failed(error)
      }
      finish(request, collected)
    }
  }

  /// On GTK's thread.
  private static func finish(
    _ request: sending UnsafeMutablePointer<WebKitURISchemeRequest>, _ collected: Collected
  ) {
    let held = Unmanaged.passRetained(Answer(request, collected)).toOpaque()
    g_idle_add(
      { data in
        if let data { Unmanaged<Answer>.fromOpaque(data).takeRetainedValue().give() }
        return 0
      }, held)
  }

  /// An answer on its way to GTK's thread.
  private final class Answer {
    private let request: UnsafeMutablePointer<WebKitURISchemeRequest>
    private let collected: Collected

    init(_ request: UnsafeMutablePointer<WebKitURISchemeRequest>, _ collected: Collected) {
      (self.request, self.collected) = (request, collected)
    }

    func give() {
      let (head, bytes) = collected.value
      guard let head else { return xs_finish(request, 0, "", nil, 0, nil, 0) }
      let type = head.headers["content-type"] ?? ""
      let pairs = head.headers.filter { !$0.isNamed("content-length") }.flatMap {
        [$0.name, $0.value]
      }
      var texts: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer(strdup($0)) }
      defer { for text in texts { free(UnsafeMutablePointer(mutating: text)) } }
      bytes.withUnsafeBytes {
        xs_finish(request, Int32(head.status), type, &texts, Int32(pairs.count / 2), $0.baseAddress, $0.count)
      }
    }
  }
}
