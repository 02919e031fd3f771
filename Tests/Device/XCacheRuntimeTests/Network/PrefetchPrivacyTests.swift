import System
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// An answer that was sent ahead is for the user whose cookies it was sent with, and for nobody else.
@Suite(.serialized) struct PrefetchPrivacyTests {
  static let page = "https://m.test/index.html"
  static let url = "https://m.test/api/account"

  /// A page whose call is sent ahead, with the cookies of user A, through a network that the test lets go on.
  private struct World {
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
    func takes(_ headers: [(name: String, value: String)] = [], cookies: Bool = true) async -> Bool {
      let request = PageRequest(
        PrefetchPrivacyTests.url, headers: headers, destination: .fetch, mode: .cors, hasCredentials: cookies,
        page: page)
      return await runtime.prefetched(request) != nil
    }

    /// Waits until the answer is there, or refused.
    func settle() async {
      while runtime.prefetches?.size == 0, runtime.prefetchCounts.failed == 0 {
        try? await Task.sleep(for: .milliseconds(1))
      }
    }
  }

  /// One that answers when it is told to.
  private final class Line: Sendable {
    private let isOpen = Monitor(false)
    private let hasBegun = Locked(false)

    func open() { isOpen.broadcasting { $0 = true } }
    func begun() async { while !hasBegun.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) } }

    /// The call is on its way until the line opens.
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

  private static func head(_ headers: [(name: String, value: String)] = []) -> NetworkHead {
    NetworkHead(status: 200, headers: headers, url: url)
  }

  @Test(arguments: [["session=B"], []])
  func whoSignsInOrOutMeanwhileGetsNothing(others: [String]) async throws {
    let line = Line()
    let world = try await World(line.transport(Self.head()))
    await line.begun()
    world.cookies.replace(others)
    line.open()
    await world.settle()
    #expect(await !world.takes())
    // It is gone for good, for A as well.
    world.cookies.replace(["session=A"])
    #expect(await !world.takes())
    #expect(world.runtime.prefetches?.size == 0)
  }

  @Test(arguments: [["session=B"], [], ["session=A", "role=admin"]])
  func norDoesWhoAsksWhileItIsUnderWay(others: [String]) async throws {
    let line = Line()
    let world = try await World(line.transport(Self.head()))
    await line.begun()
    world.cookies.replace(others)
    #expect(await !world.takes())
    line.open()
  }

  @Test func norARequestWithoutCookies() async throws {
    let world = try await World(CaseTransport { _ in (Self.head(), "account of A") })
    await world.settle()
    #expect(await !world.takes(cookies: false))
    #expect(await !world.takes())
  }

  /// After A signed out, a request without cookies gets nothing of A's, whatever A's answer removed.
  @Test func cookiesThatTheAnswerRemovedAreOnlyThose() async throws {
    let world = try await World(
      CaseTransport { _ in (Self.head([("Set-Cookie", "flash=; Max-Age=0")]), "account of A") },
      cookies: ["session=A", "flash=1"])
    await world.settle()
    world.cookies.replace([])
    #expect(await !world.takes())
  }

  @Test(arguments: [
    ("flash=; Max-Age=0; Path=/", ["session=A"]),
    ("flash=gone; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/", ["session=A"]),
    ("flash=gone; expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/", ["session=A"]),
    ("session=A2; HttpOnly; Path=/", ["flash=1", "session=A2"]),
    ("seen=1; Path=/api", ["session=A", "flash=1", "seen=1"]),
    // One that isn't sent to this URL changes nothing.
    ("seen=1; Path=/other", ["session=A", "flash=1"]),
    ("seen=1; Domain=evil.test; Path=/", ["session=A", "flash=1"]),
  ])
  func whatTheAnswerSetIsTheUsersOwn(line: String, cookies: [String]) async throws {
    let world = try await World(
      CaseTransport { _ in (Self.head([("Set-Cookie", line)]), "account of A") },
      cookies: ["session=A", "flash=1"])
    await world.settle()
    world.cookies.replace(cookies)
    #expect(await world.takes())
  }

  /// A cookie that has lapsed meanwhile was part of the session.
  @Test func aCookieThatLapsedIsMissed() async throws {
    let world = try await World(
      CaseTransport { _ in (Self.head([("Set-Cookie", "session=A2; Max-Age=1; Path=/")]), "account of A") })
    await world.settle()
    world.cookies.replace([])
    #expect(await !world.takes())
  }

  /// A redirect that carried other cookies than the call, or cookies of another origin, may have brought another user's.
  @Test(arguments: ["https://m.test/api/v2/account", "https://api.test/account"])
  func aRedirectThatCarriedOthersCookies(target: String) async throws {
    let line = Line()
    let world = try await World(
      CaseTransport { request in
        if request.url == target { return (Self.head(), "account of B") }
        line.wait()
        return (NetworkHead(status: 302, headers: [("Location", target)], url: request.url), "")
      })
    await line.begun()
    world.cookies.replace(["session=B"])
    line.open()
    await world.settle()
    world.cookies.replace(["session=A"])
    #expect(await !world.takes())
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
    ] as [(String, [(String, String)], Bool)])
  func headersOfThePageCountIfTheAnswerVaries(
    vary: String, headers: [(String, String)], isGiven: Bool
  ) async throws {
    for isUnderWay in [false, true] {
      let line = Line()
      let world = try await World(line.transport(Self.head(vary.isEmpty ? [] : [("Vary", vary)])))
      await line.begun()
      if isUnderWay {
        async let taken = world.takes(headers.map { ($0.0, $0.1) })
        try await Task.sleep(for: .milliseconds(20))
        line.open()
        #expect(await taken == isGiven)
      } else {
        line.open()
        await world.settle()
        #expect(await world.takes(headers.map { ($0.0, $0.1) }) == isGiven)
      }
    }
  }

  /// A header of the page's own may say who asks, if the answer varies by it; so do the cookies of such a request.
  @Test(arguments: [("X-User, Accept", "x-uSER", "session=A"), ("", "X-Other", "session=B")])
  func aRequestWithAHeaderOfThePageDropsTheAnswer(vary: String, name: String, cookie: String) async throws {
    let world = try await World(
      CaseTransport { _ in (Self.head(vary.isEmpty ? [] : [("Vary", vary)]), "account of A") })
    await world.settle()
    world.cookies.replace([cookie])
    #expect(await !world.takes([(name, "B")]))
    world.cookies.replace(["session=A"])
    #expect(await !world.takes())
  }

  /// Who asks with a token is another user, too.
  @Test func anAuthorizationDropsTheAnswer() async throws {
    let world = try await World(CaseTransport { _ in (Self.head(), "account of A") })
    await world.settle()
    #expect(await !world.takes([("aUTHORIZATION", "Bearer B")]))
    #expect(await !world.takes())
  }
}

/// Answers each request as a test says.
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
