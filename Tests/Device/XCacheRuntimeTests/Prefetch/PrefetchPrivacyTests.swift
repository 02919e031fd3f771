import DeviceTestSupport
import System
import Testing
import TestSupport
import XCacheDevice

@testable import XCacheRuntime

/// A prefetched answer is only for the user with whose cookies it was requested.
@Suite(.serialized) struct PrefetchPrivacyTests {
  static let page = "https://m.test/index.html"
  static let url = "https://m.test/api/account"

  /// A page whose call is prefetched with the cookies of user A, over a network that the test controls.
  private struct Fixture {
    let scratch: Scratch
    let runtime: Runtime
    let cookies: FakeCookies
    let page: OpenPage

    init(_ transport: any PageTransport, cookies list: [String] = ["session=A"]) async throws {
      let origin = FakeOrigin()
      try origin.publish([PrefetchPrivacyTests.page: Array("<html>".utf8)])
      let config =
        #"[{"url":"\#(PrefetchPrivacyTests.page)","interfaces":[{"api":"\#(PrefetchPrivacyTests.url)","method":"GET"}]}]"#
      origin.serve(
        Array(#"{"code":200,"data":{"config":\#(config),"version":"4"}}"#.utf8),
        at: "\(FakeOrigin.server)/prefetchConfig?app=shop&channel=online")
      origin.say(#","prefetch":"4""#)
      scratch = try Scratch()
      var settings = RuntimeSettings(
        DeviceSettings(
          folder: "\(scratch.path)/device", server: FakeOrigin.server, app: "shop", hosts: ["m.test"]))
      cookies = FakeCookies(list)
      settings.fetcher = PageFetcher(transport, cookies: cookies)
      runtime = try await Runtime(settings, transport: origin)
      await runtime.handle(.launch)
      page = runtime.open(PrefetchPrivacyTests.page)
      await runtime.prefetch(for: page, PageContext(userAgent: "Engine/1", acceptLanguage: "de"))
    }

    /// Whether the page's request, with the cookies that the engine has now, gets the answer.
    func takes(_ headers: HTTPFields = [], cookies: Bool = true) async -> Bool {
      let request = PageRequest(
        PrefetchPrivacyTests.url, headers: headers, destination: .fetch, mode: .cors, hasCredentials: cookies,
        page: page)
      return await runtime.prefetched(request) != nil
    }

    /// Waits until the answer has arrived, or was refused.
    func settle() async {
      while runtime.prefetches?.size == 0, runtime.prefetchCounts.failed == 0 {
        try? await Task.sleep(for: .milliseconds(1))
      }
    }
  }

  /// A network that answers when the test opens it.
  private final class Gate: Sendable {
    private let isOpen = Monitor(false)
    private let hasBegun = Locked(false)

    func open() { isOpen.broadcasting { $0 = true } }
    func begun() async { while !hasBegun.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) } }

    /// Blocks the call until the gate opens.
    func wait() {
      hasBegun.withLock { $0 = true }
      isOpen.waiting { $0 ? () : nil }
    }

    func transport(_ answer: NetworkHead) -> CaseTransport {
      CaseTransport { [self] _ in
        wait()
        return (answer, "account of A")
      }
    }
  }

  private static func head(_ headers: HTTPFields = []) -> NetworkHead {
    NetworkHead(status: 200, headers: headers, url: url)
  }

  @Test(arguments: [["session=B"], []])
  func otherUsersGetNothing(others: [String]) async throws {
    let gate = Gate()
    let fixture = try await Fixture(gate.transport(Self.head()))
    await gate.begun()
    fixture.cookies.replace(others)
    gate.open()
    await fixture.settle()
    #expect(await !fixture.takes())
    // It was dropped, for A as well.
    fixture.cookies.replace(["session=A"])
    #expect(await !fixture.takes())
    #expect(fixture.runtime.prefetches?.size == 0)
  }

  @Test(arguments: [["session=B"], [], ["session=A", "role=admin"]])
  func otherUsersGetNothingDuringTheCall(others: [String]) async throws {
    let gate = Gate()
    let fixture = try await Fixture(gate.transport(Self.head()))
    await gate.begun()
    fixture.cookies.replace(others)
    #expect(await !fixture.takes())
    gate.open()
  }

  @Test func requestsWithoutCookiesGetNothing() async throws {
    let fixture = try await Fixture(CaseTransport { _ in (Self.head(), "account of A") })
    await fixture.settle()
    #expect(await !fixture.takes(cookies: false))
    #expect(await !fixture.takes())
  }

  /// After A signed out, a request without cookies gets nothing, whatever cookies A's answer removed.
  @Test func onlyCookiesRemovedByTheAnswerMayBeMissing() async throws {
    let fixture = try await Fixture(
      CaseTransport { _ in (Self.head([("Set-Cookie", "flash=; Max-Age=0")]), "account of A") },
      cookies: ["session=A", "flash=1"])
    await fixture.settle()
    fixture.cookies.replace([])
    #expect(await !fixture.takes())
  }

  @Test(arguments: [
    ("flash=; Max-Age=0; Path=/", ["session=A"]),
    ("flash=gone; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/", ["session=A"]),
    ("flash=gone; expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/", ["session=A"]),
    ("session=A2; HttpOnly; Path=/", ["flash=1", "session=A2"]),
    ("seen=1; Path=/api", ["session=A", "flash=1", "seen=1"]),
    // A cookie that isn't sent to this URL doesn't matter.
    ("seen=1; Path=/other", ["session=A", "flash=1"]),
    ("seen=1; Domain=evil.test; Path=/", ["session=A", "flash=1"]),
  ])
  func cookiesSetByTheAnswerAreExpected(setCookie: String, cookies: [String]) async throws {
    let fixture = try await Fixture(
      CaseTransport { _ in (Self.head([("Set-Cookie", setCookie)]), "account of A") },
      cookies: ["session=A", "flash=1"])
    await fixture.settle()
    fixture.cookies.replace(cookies)
    #expect(await fixture.takes())
  }

  /// A cookie that has expired was part of the session.
  @Test func expiredCookiesAreMissed() async throws {
    let fixture = try await Fixture(
      CaseTransport { _ in (Self.head([("Set-Cookie", "session=A2; Max-Age=1; Path=/")]), "account of A") })
    await fixture.settle()
    fixture.cookies.replace([])
    #expect(await !fixture.takes())
  }

  /// A redirect that was followed with other cookies than the call, or to another origin, may have returned another
  /// user's answer.
  @Test(arguments: ["https://m.test/api/v2/account", "https://api.test/account"])
  func redirectsWithOtherCookiesDropTheAnswer(target: String) async throws {
    let gate = Gate()
    let fixture = try await Fixture(
      CaseTransport { request in
        if request.url == target { return (Self.head(), "account of B") }
        gate.wait()
        return (NetworkHead(status: 302, headers: [("Location", target)], url: request.url), "")
      })
    await gate.begun()
    fixture.cookies.replace(["session=B"])
    gate.open()
    await fixture.settle()
    fixture.cookies.replace(["session=A"])
    #expect(await !fixture.takes())
  }

  @Test(
    arguments: [
      ("accept", [("Accept", "application/json")], false),
      ("Accept-Language, ACCEPT", [("aCCEPT", "text/html")], false),
      ("Accept-Language", [("Accept", "application/json"), ("Accept-Language", "de")], true),
      ("Accept-Language", [("Accept", "*/*"), ("accept-language", "fr")], false),
      ("*", [("Accept", "*/*")], false),
      ("Accept-Encoding, Cookie, Origin", [("Accept", "text/html")], true),
      ("", [("Accept", "application/json"), ("Accept-Language", "fr")], true),
      ("", [("Origin", "https://other.test")], false),
    ] as [(String, HTTPFields, Bool)])
  func varyingHeadersAreCompared(
    vary: String, headers: HTTPFields, isGiven: Bool
  ) async throws {
    for isUnderWay in [false, true] {
      let gate = Gate()
      let fixture = try await Fixture(gate.transport(Self.head(vary.isEmpty ? [] : [("Vary", vary)])))
      await gate.begun()
      if isUnderWay {
        async let taken = fixture.takes(headers)
        try await Task.sleep(for: .milliseconds(20))
        gate.open()
        #expect(await taken == isGiven)
      } else {
        gate.open()
        await fixture.settle()
        #expect(await fixture.takes(headers) == isGiven)
      }
    }
  }

  /// A request with a custom header, or with other cookies, may be of another user.
  @Test(arguments: [("X-User, Accept", "x-uSER", "session=A"), ("", "X-Other", "session=B")])
  func requestsWithCustomHeadersDropTheAnswer(vary: String, name: String, cookie: String) async throws {
    let fixture = try await Fixture(
      CaseTransport { _ in (Self.head(vary.isEmpty ? [] : [("Vary", vary)]), "account of A") })
    await fixture.settle()
    fixture.cookies.replace([cookie])
    #expect(await !fixture.takes([(name, "B")]))
    fixture.cookies.replace(["session=A"])
    #expect(await !fixture.takes())
  }

  /// A request with a token may be of another user, too.
  @Test func requestsWithAuthorizationDropTheAnswer() async throws {
    let fixture = try await Fixture(CaseTransport { _ in (Self.head(), "account of A") })
    await fixture.settle()
    #expect(await !fixture.takes([("aUTHORIZATION", "Bearer B")]))
    #expect(await !fixture.takes())
  }
}

/// Answers each request with a test's closure.
final class CaseTransport: PageTransport {
  private let answer: @Sendable (NetworkRequest) -> (NetworkHead, String)

  init(_ answer: @escaping @Sendable (NetworkRequest) -> (NetworkHead, String)) { self.answer = answer }

  func send(
    _ request: NetworkRequest, begin: (NetworkHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) {
    let (head, body) = answer(request)
    guard !request.isCancelled(), begin(head), receive(Array(body.utf8).span.bytes) else {
      throw TransportError(.stopped, "the caller ended it")
    }
  }
}
