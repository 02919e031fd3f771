import SocketServer
import System
import Testing
import TestSupport
import Values

/// `xcache login --sso` and the ID tokens of CI jobs, with servers that answer as an origin does.
@Suite("Signing in") struct SignInTests {
  typealias Answers = @Sendable (SocketServer.Request, Int) -> [SocketServer.Step]?

  /// A server that records its requests. `answers` gets a request and how many came for its path before.
  private final class Origin: Sendable {
    let requests: Locked<[SocketServer.Request]>
    private let server: SocketServer

    init(_ answers: @escaping Answers) {
      let requests = Locked<[SocketServer.Request]>([])
      self.requests = requests
      server = SocketServer { request in
        let before = requests.withLock { all in
          defer { all.append(request) }
          return all.count { $0.path == request.path }
        }
        return answers(request, before) ?? SignInTests.json(#"{"channels":[],"defaultApp":null}"#)
      }
    }

    var url: String { server.url }

    func bodies(of path: String) -> [JSONValue] {
      requests.withLock { $0 }.filter { $0.path == path }.compactMap { try? JSONValue.parse($0.body) }
    }
  }

  private static let token = "xcache_a1b2c3d4e5f6_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
  private static let idToken = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl"

  private static func json(_ text: String, status: Int = 200) -> [SocketServer.Step] {
    .answer(status, [("Content-Type", "application/json")], body: text.utf8)
  }

  private static func problem(_ status: Int, _ code: String) -> [SocketServer.Step] {
    json(#"{"code":"\#(code)","detail":"\#(code) said","status":\#(status),"title":"No"}"#, status: status)
  }

  private static func run(_ words: [String], in scratch: Scratch, _ more: [String: String] = [:]) throws
    -> Outcome
  {
    var environment = ["PATH": "/usr/bin:/bin", "HOME": scratch.path, "SWIFT_BACKTRACE": "enable=no"]
    environment.merge(more) { $1 }
    return try Outcome(try Child([Binary.path] + words, environment: environment, in: scratch.path))
  }

  private static func pending(_ request: SocketServer.Request, code: String = "null") -> [SocketServer.Step] {
    json(
      #"{"deviceCode":\#(code),"userCode":"BCDF-GHJK","interval":1,"expiresIn":60,"#
        + #""verifyURL":"http://\#(request.fields["host"] ?? "")/console/#/signin/BCDF-GHJK"}"#)
  }

  private static let session = json(
    #"{"token":"\#(token)","name":"ana@acme.com","scope":"publish","expiresAt":"2099-01-01T00:00:00.000Z"}"#)

  private static let provider = json(#"{"sso":{"issuer":"https://id.acme.com","host":"id.acme.com"}}"#)

  // MARK: - People

  @Test("A sign-in on another machine is asked about until it is allowed, through refusals and outages")
  func device() throws {
    let origin = Origin { request, before in
      switch request.path {
      case "/auth/": Self.provider
      case "/auth/device": Self.pending(request, code: #""device-secret""#)
      case "/auth/token":
        before == 0
          ? Self.problem(400, "authorization-pending") : before < 3 ? [.reset] : Self.session
      default: nil
      }
    }
    let scratch = try Scratch()
    let outcome = try Self.run(["login", origin.url, "--sso", "--device"], in: scratch)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(outcome.output.contains("as ana@acme.com until 2099-01-01"), "\(outcome.output)")
    #expect(outcome.errors.contains("BCDF-GHJK") && outcome.errors.contains("/console/#/signin/"))
    for text in [outcome.output, outcome.errors] {
      #expect(!text.contains("device-secret") && !text.contains("AAAA"))
    }
    #expect(origin.bodies(of: "/auth/token").allSatisfy { $0["deviceCode"]?.string == "device-secret" })
    // Nobody's token is sent to get one.
    for request in origin.requests.withLock({ $0 }) where request.path.hasPrefix("/auth/") {
      #expect(request.fields["authorization"] == nil)
    }
    let file = scratch.path + "/.config/xcache/servers.json"
    let saved = try JSONValue.parse(try #require(try DurableFile.read(file)))
    #expect(saved["servers"]?[origin.url]?["token"]?.string == Self.token)
    #expect(saved["servers"]?[origin.url]?["sessionEnd"]?.string == "2099-01-01T00:00:00.000Z")
    #expect(try Kernel.status(file)?.mode == 0o600)
  }

  @Test(
    "What ends a sign-in, ends it with words, and saves nothing",
    arguments: [
      ("access-denied", 3, "denied in the console"), ("expired-token", 1, "nobody allowed the sign-in"),
      ("invalid-verifier", 1, "invalid-verifier said"),
    ] as [(String, Int32, String)])
  func ended(_ code: String, _ exitCode: Int32, _ words: String) throws {
    let origin = Origin { request, _ in
      switch request.path {
      case "/auth/": Self.provider
      case "/auth/device": Self.pending(request, code: #""device-secret""#)
      default: Self.problem(400, code)
      }
    }
    let scratch = try Scratch()
    let outcome = try Self.run(["login", origin.url, "--sso", "--device"], in: scratch)
    #expect(outcome.exitCode == exitCode && outcome.errors.contains(words), "\(outcome.errors)")
    #expect(try Kernel.status(scratch.path + "/.config/xcache/servers.json") == nil)
  }

  @Test(
    "A browser on this machine comes back with a code, which is traded with the verifier of its challenge")
  func loopback() throws {
    let asked = Locked<JSONValue>(.null)
    let origin = Origin { request, _ in
      switch request.path {
      case "/auth/": return Self.provider
      case "/auth/device":
        asked.withLock { $0 = (try? JSONValue.parse(request.body)) ?? .null }
        return Self.pending(request)
      case "/console/":
        let (port, state) = asked.withLock { ($0["port"]?.integer ?? 0, $0["state"]?.string ?? "") }
        return .answer(302, [("Location", "http://127.0.0.1:\(port)/?code=the-code&state=\(state)")])
      case "/auth/token": return Self.session
      default: return nil
      }
    }
    let scratch = try Scratch()
    // A browser that follows the console's redirect, and must not see the tokens of whoever starts it.
    let browser = try scratch.write(
      "browser",
      "#!/bin/sh\nenv > \(scratch.path)/environment\nexec curl -sL \"$1\" -o \(scratch.path)/page\n")
    try Kernel.setMode(browser, to: 0o755)
    let outcome = try Self.run(
      ["login", origin.url, "--sso", "--json"], in: scratch,
      ["BROWSER": browser, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "github-bearer"])
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let document = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(document["name"]?.string == "ana@acme.com" && !outcome.output.contains("xcache_a1"))
    let trade = try #require(origin.bodies(of: "/auth/token").first)
    let verifier = try #require(trade["verifier"]?.string)
    #expect(trade["code"]?.string == "the-code" && (43...128).contains(verifier.utf8.count))
    let challenge = Base64.encode(Array(SHA256.of(Array(verifier.utf8)).bytes))
      .map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" }
    #expect(asked.withLock { $0["challenge"]?.string } == String(challenge))
    #expect(try Wait.until(5) { try Kernel.status(scratch.path + "/page") != nil })
    let seen = String(decoding: try DurableFile.read(scratch.path + "/environment") ?? [], as: UTF8.self)
    #expect(!seen.isEmpty && !seen.contains("github-bearer"))
  }

  @Test("An origin without a provider, or too old for one, says so", arguments: [true, false])
  func noProvider(isOld: Bool) throws {
    let origin = Origin { request, _ in
      isOld ? .answer(404, body: "nothing here".utf8) : Self.json(#"{"sso":null}"#)
    }
    let outcome = try Self.run(["login", origin.url, "--sso"], in: try Scratch())
    #expect(outcome.exitCode == 1 && outcome.errors.contains("no single sign-on"), "\(outcome.errors)")
    #expect(outcome.errors.contains(isOld ? "too old" : "no sign-in provider"))
  }

  @Test("After its end, a session's refusal says how to sign in again; logout ends it at the server")
  func sessionEnds() throws {
    let origin = Origin { request, _ in
      request.method == "DELETE" ? Self.json("{}") : Self.problem(401, "token")
    }
    let scratch = try Scratch()
    let file = try scratch.write(
      ".config/xcache/servers.json",
      #"{"servers":{"\#(origin.url)":{"token":"\#(Self.token)","sessionEnd":"2020-01-01T00:00:00.000Z"}}}"#)
    try Kernel.setMode(file, to: 0o600)
    let outcome = try Self.run(["channel", "list"], in: scratch)
    #expect(outcome.exitCode == 1 && outcome.errors.contains("ended at 2020-01-01"), "\(outcome.errors)")
    #expect(outcome.errors.contains("sign in again: xcache login --sso \(origin.url)"))
    let logout = try Self.run(["logout"], in: scratch)
    #expect(logout.exitCode == 0 && logout.output.contains("signed out"), "\(logout.output)")
    #expect(
      origin.requests.withLock { $0 }.last.map { "\($0.method) \($0.path)" }
        == "DELETE /api/v1/sessions/a1b2c3d4e5f6")
  }

  // MARK: - Jobs

  private static func trade(_ request: SocketServer.Request, lasts milliseconds: Int64 = 900_000)
    -> [SocketServer.Step]
  {
    let end = Timestamp.text(Clock.unixMilliseconds() + milliseconds)
    return json(
      #"{"id":"0123456789ab","name":"ci-shop run 7","scope":"publish","expiresAt":"\#(end)","app":"shop","#
        + #""channel":null,"bundles":"main"}"#, status: 201)
  }

  @Test("The commands of one job trade its ID token once, and ask with what they got") func job() throws {
    let origin = Origin { request, _ in request.path == "/auth/trade" ? Self.trade(request) : nil }
    let scratch = try Scratch()
    let environment = ["XCACHE_ID_TOKEN": Self.idToken, "XCACHE_IDENTITY": "ci-shop"]
    for _ in 0..<3 {
      let outcome = try Self.run(["channel", "list", "--server", origin.url], in: scratch, environment)
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      #expect(!(outcome.output + outcome.errors).contains("eyJ"))
      #expect(!(outcome.output + outcome.errors).contains("xcache_0123456789ab_A"))
    }
    let trades = origin.bodies(of: "/auth/trade")
    #expect(trades.count == 1 && trades[0]["token"]?.string == Self.idToken)
    #expect(trades[0]["identity"]?.string == "ci-shop")
    let lists = origin.requests.withLock { $0 }.filter { $0.path.hasPrefix("/api/") }
    let bearer = try #require(lists.first?.fields["authorization"])
    #expect(lists.count == 3 && lists.allSatisfy { $0.fields["authorization"] == bearer })
    // Only who made the secret has it; the origin got its hash.
    let secret = try #require(Base64URL.decode(bearer.dropFirst("Bearer xcache_0123456789ab_".count).utf8))
    #expect(trades[0]["secretHash"]?.string == SHA256.of(secret).hex)
    let folder = scratch.path + "/.cache/xcache/jobs"
    #expect(try Kernel.status(folder)?.mode == 0o700)
    for (name, content) in try Scratch.contents(folder) {
      #expect(!name.contains("eyJ") && !String(decoding: content, as: UTF8.self).contains("eyJ"))
    }
    // Another server gets neither.
    let other = Origin { _, _ in Self.problem(403, "no-identity") }
    let outcome = try Self.run(["channel", "list", "--server", other.url], in: scratch, environment)
    #expect(outcome.exitCode == 1 && outcome.errors.contains("XCACHE_ID_TOKEN"), "\(outcome.errors)")
    #expect(other.requests.withLock { $0 }.allSatisfy { $0.fields["authorization"] == nil })
  }

  @Test("A trade whose answer is lost is asked for again with the same secret, also by the next command")
  func lostTrade() throws {
    let origin = Origin { request, before in
      request.path == "/auth/trade" ? before < 8 ? [.reset] : Self.trade(request) : nil
    }
    let scratch = try Scratch()
    let environment = ["XCACHE_ID_TOKEN": Self.idToken]
    var outcome = try Self.run(["channel", "list", "--server", origin.url], in: scratch, environment)
    for _ in 0..<8 where outcome.exitCode != 0 {
      outcome = try Self.run(["channel", "list", "--server", origin.url], in: scratch, environment)
    }
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let hashes = Set(origin.bodies(of: "/auth/trade").compactMap { $0["secretHash"]?.string })
    #expect(hashes.count == 1)
  }

  @Test("What an ID token got is over after its time; another one isn't to be had") func over() throws {
    let origin = Origin { request, _ in
      request.path == "/auth/trade" ? Self.trade(request, lasts: -1) : nil
    }
    let scratch = try Scratch()
    let words = ["channel", "list", "--server", origin.url]
    _ = try Self.run(words, in: scratch, ["XCACHE_ID_TOKEN": Self.idToken])
    let again = try Self.run(words, in: scratch, ["XCACHE_ID_TOKEN": Self.idToken])
    #expect(again.exitCode == 1 && again.errors.contains("was traded"), "\(again.errors)")
    #expect(origin.bodies(of: "/auth/trade").count == 1)
  }

  @Test("GitHub is asked with its bearer token for the server's audience, and no redirect is followed")
  func github() throws {
    let github = Origin { request, _ in
      request.path.hasPrefix("/moved")
        ? .answer(302, [("Location", "http://127.0.0.1:1/")])
        : Self.json(#"{"value":"\#(Self.idToken)","count":1}"#)
    }
    let origin = Origin { request, _ in request.path == "/auth/trade" ? Self.trade(request) : nil }
    let scratch = try Scratch()
    func run(_ path: String, _ more: [String: String] = [:]) throws -> Outcome {
      try Self.run(
        ["channel", "list", "--server", origin.url], in: scratch,
        [
          "ACTIONS_ID_TOKEN_REQUEST_URL": github.url + path,
          "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "github\(path.count)",
        ].merging(more) { $1 })
    }
    let outcome = try run("/token?v=2")
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let asked = github.requests.withLock { $0 }
    #expect(asked.count == 1 && asked[0].fields["authorization"] == "Bearer github10")
    #expect(asked[0].path == "/token?v=2&audience=\(PercentEncoding.encode(origin.url))")
    #expect(origin.requests.withLock { $0 }.allSatisfy { $0.fields["authorization"] != "Bearer github10" })
    let moved = try run("/moved-away")
    #expect(moved.exitCode == 1 && moved.errors.contains("gave no ID token"), "\(moved.errors)")
    // A token that is given precedes what GitHub gives any job.
    #expect(try run("/moved-again", ["XCACHE_TOKEN": Self.token]).exitCode == 0)
  }

  @Test("A folder that others may enter isn't used") func looseFolder() throws {
    let origin = Origin { request, _ in request.path == "/auth/trade" ? Self.trade(request) : nil }
    let scratch = try Scratch()
    try Kernel.makeFolder(scratch.path + "/.cache/xcache/jobs", mode: 0o755)
    try Kernel.setMode(scratch.path + "/.cache/xcache/jobs", to: 0o755)
    let outcome = try Self.run(
      ["channel", "list", "--server", origin.url], in: scratch, ["XCACHE_ID_TOKEN": Self.idToken])
    #expect(outcome.exitCode == 2 && outcome.errors.contains("chmod go="), "\(outcome.errors)")
    #expect(origin.requests.withLock { $0.isEmpty })
  }
}
