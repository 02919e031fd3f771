import HTTPClient
import OriginAPI
import OriginClient
import System
import Testing
import Values

@testable import xcache

/// `login --sso`: what is decided without a server.
@Suite struct SignInTests {
  // MARK: - Polling

  @Test func pollsAtTheInterval() {
    var polling = SignInPolling(interval: 5, expiresIn: 600, now: 100)
    #expect(polling.first(now: 100) == .wait(seconds: 5))
    #expect(polling.next(after: .pending, now: 105) == .wait(seconds: 5))
    // RFC 8628 §3.5: for this and all subsequent requests.
    #expect(polling.next(after: .slowDown, now: 110) == .wait(seconds: 10))
    #expect(polling.next(after: .pending, now: 120) == .wait(seconds: 10))
    #expect(polling.next(after: .outage, now: 130) == .wait(seconds: 11))
    #expect(polling.next(after: .outage, now: 141) == .wait(seconds: 12))
    #expect(polling.next(after: .outage, now: 153) == .wait(seconds: 14))
    #expect(polling.next(after: .pending, now: 167) == .wait(seconds: 10))
    #expect(polling.next(after: .pending, now: 689) == .wait(seconds: 10))
    #expect(polling.next(after: .pending, now: 690) == .giveUp)
  }

  @Test(
    "An origin's numbers make it neither hammer nor wait for ever",
    arguments: [(0, 600), (-5, 600), (Int.max, Int.max), (Int.min, Int.min), (1, 0)])
  func numbersAreLimited(_ interval: Int, _ expiresIn: Int) {
    var polling = SignInPolling(interval: interval, expiresIn: expiresIn, now: 0)
    var (now, questions): (Int64, Int) = (0, 0)
    var action = polling.first(now: now)
    while case .wait(let seconds) = action {
      #expect((1...60).contains(seconds))
      now += seconds
      questions += 1
      action = polling.next(after: questions % 3 == 0 ? .slowDown : .outage, now: now)
    }
    #expect(now <= SignInPolling.longest)
  }

  @Test func refusalsSayWhetherToGoOn() {
    func outcome(_ status: Int, _ code: String) -> SignInPolling.Outcome? {
      SingleSignOn.outcome(
        of: .refused(Problem(status: status, title: "", code: code, detail: nil)))
    }
    #expect(outcome(400, "authorization-pending") == .pending)
    #expect(outcome(400, "slow-down") == .slowDown && outcome(429, "slow-down") == .slowDown)
    #expect(outcome(503, "busy") == .outage)
    #expect(outcome(400, "access-denied") == nil && outcome(400, "expired-token") == nil)
    #expect(SingleSignOn.outcome(of: .unreachable(server: "s", .reset(host: "h", port: 1))) == .outage)
  }

  // MARK: - The redirect

  private static let request = LoopbackRequest(state: "the-state-of-this-sign-in", port: 4711)

  private static func read(
    _ target: String, method: String = "GET", host: String = "127.0.0.1:4711", more: String = ""
  ) -> LoopbackRequest.Reading {
    request.read(Array("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n".utf8))
  }

  private static func status(_ reading: LoopbackRequest.Reading) -> Int? {
    if case .refused(let status, _) = reading { status } else { nil }
  }

  @Test func codeComesWithItsState() {
    let state = "state=the-state-of-this-sign-in"
    #expect(Self.read("/?code=abc-1&\(state)") == .decided(.allowed(code: "abc-1")))
    #expect(Self.read("/?\(state)&code=abc-1&iss=https%3A%2F%2Fx") == .decided(.allowed(code: "abc-1")))
    #expect(Self.read("/?error=access_denied&\(state)") == .decided(.denied))
    #expect(Self.request.read(Array("GET /?code=abc".utf8)) == .incomplete)
  }

  @Test(
    "What isn't this sign-in's redirect changes nothing",
    arguments: [
      "/?code=abc", "/?code=abc&state=another", "/?code=abc&state=", "/?error=access_denied",
      "/?error=access_denied&state=another", "/?state=the-state-of-this-sign-in",
      "/?code=&state=the-state-of-this-sign-in", "/?code=a%20b&state=the-state-of-this-sign-in",
      "/?code=a&code=b&state=the-state-of-this-sign-in", "/?code=%zz&state=the-state-of-this-sign-in",
      "/?code=a&state=the-state-of-this-sign-in&state=x",
    ])
  func othersAreRefused(_ target: String) { #expect(Self.status(Self.read(target)) == 400) }

  @Test func requestsAreChecked() {
    let target = "/?code=abc&state=the-state-of-this-sign-in"
    #expect(Self.status(Self.read("/favicon.ico")) == 404 && Self.status(Self.read("/")) == 404)
    #expect(Self.status(Self.read(target, method: "POST")) == 405)
    // A name that another site lets resolve to this machine.
    for host in ["evil.example:4711", "127.0.0.1", "127.0.0.1:80", "localhost:4711", ""] {
      #expect(Self.status(Self.read(target, host: host)) == 421, "\(host)")
    }
    #expect(Self.status(Self.read(target, more: "Host: 127.0.0.1:4711\r\n")) == 421)
    let long = Array(repeating: UInt8(ascii: "a"), count: LoopbackRequest.limit)
    #expect(Self.status(Self.request.read(long)) == 431)
    #expect(Self.status(Self.request.read(Array("\u{16}\u{3}\u{1}\r\n\r\n".utf8))) == 400)
  }

  @Test func answersSayNothingOfTheRequest() throws {
    let answer = try #require(
      LoopbackRequest.answer(to: Self.read("/?code=secret-code&state=the-state-of-this-sign-in")))
    let text = String(decoding: answer, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("You can close this tab."))
    #expect(!text.contains("secret-code") && !text.contains("<script"))
    #expect(text.contains("Cache-Control: no-store") && text.contains("default-src 'none'"))
    let body = try #require(text.firstRange(of: "\r\n\r\n")?.upperBound)
    #expect(text.contains("Content-Length: \(text[body...].utf8.count)\r\n"))
    #expect(LoopbackRequest.answer(to: .incomplete) == nil)
  }

  /// Connections that send nothing, or something else, don't keep the redirect out.
  @Test func listenerWaitsForTheRedirect() throws {
    let listener = try LoopbackListener()
    let url = "http://127.0.0.1:\(listener.port)"
    let (state, port) = ("the-state", listener.port)
    let browser = ThreadTask<[Int], Never>("browser") {
      let http = HTTPClient()
      func get(_ target: String) -> Int {
        (try? http.send(HTTPRequest("GET", url + target)))?.status ?? 0
      }
      return [
        get("/favicon.ico"), get("/?code=x&state=other"), get("/?code=the-code&state=\(state)"),
      ]
    }
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    #expect(try listener.wait(for: state, until: end) == .allowed(code: "the-code"))
    #expect(browser.value() == [404, 400, 200] && port > 0)
    #expect(try listener.wait(for: state, until: Clock.monotonicNanoseconds() + 10_000_000) == nil)
  }

  // MARK: - The browser

  @Test func browserOfTheEnvironment() throws {
    func browser(_ environment: [String: String]) -> BrowserProgram? {
      BrowserProgram(environment) { ["/usr/bin/xdg-open", "/usr/bin/firefox", "/opt/w3m"].contains($0) }
    }
    let path = ["PATH": "bin:/usr/bin:/bin"]
    #expect(browser(path) == nil)
    #expect(browser(path.merging(["DISPLAY": ":0"]) { $1 })?.path == "/usr/bin/xdg-open")
    #expect(browser(["DISPLAY": ":0", "PATH": "/bin"]) == nil)
    let own = try #require(browser(path.merging(["BROWSER": "lynx:firefox --new-tab %s:/opt/w3m"]) { $1 }))
    #expect(own.path == "/usr/bin/firefox" && own.arguments == ["--new-tab", "%s"])
    #expect(browser(["BROWSER": "/opt/w3m -T text/html"])?.arguments == ["-T", "text/html", "%s"])
    #expect(browser(path.merging(["BROWSER": "nothing", "DISPLAY": ":0"]) { $1 }) == nil)
  }

  @Test(
    arguments: [
      ("https://origin.example/console/#/signin/BCDF-GHJK", true),
      ("http://127.0.0.1:8080/console/#/signin/BCDF-GHJK", true),
      ("http://origin.example/console/", false), ("file:///etc/passwd", false),
      ("javascript:alert(1)", false),
      ("--profile=/tmp", false), ("https://a.example/ -x", false), ("https://a.example/;reboot", false),
      ("https://a.example/$(reboot)", false), ("https://user:pw@a.example/", false), ("", false),
    ] as [(String, Bool)])
  func pagesThatAreOpened(_ url: String, isFit: Bool) throws {
    #expect(VerifyPage.isFit(url, of: try BaseURL("https://origin.example")) == isFit)
  }
}
