import HTTPClient
import System
import Testing
import TestSupport

@testable import xcache

/// The ID tokens of CI jobs: where they come from, and who is told.
@Suite struct IDTokenTests {
  /// The form of a JWS; nothing in it is true.
  static let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl"
  private static let github = [
    "ACTIONS_ID_TOKEN_REQUEST_URL": "https://pipelines.example/token?api-version=2.0",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "github-bearer",
  ]

  let folder: Scratch

  init() throws { folder = try Scratch() }

  private func given(_ words: String..., environment: [String: String] = [:]) throws -> GivenIDToken? {
    try GivenIDToken(Arguments(words, options: Command.remote, environment: environment))
  }

  @Test func sourcesInTheirOrder() throws {
    let file = try folder.write("id-token", Self.token + "\n")
    var environment = Self.github
    #expect(try given(environment: environment)?.source == "GitHub Actions")
    environment["XCACHE_ID_TOKEN_FILE"] = file
    #expect(try given(environment: environment)?.source == file)
    environment["XCACHE_ID_TOKEN"] = Self.token
    #expect(try given(environment: environment)?.source == "XCACHE_ID_TOKEN")
    #expect(try given("--id-token", file, environment: environment)?.source == file)
    #expect(try given() == nil)
    // Without its bearer token, GitHub's address is of no use.
    environment = ["ACTIONS_ID_TOKEN_REQUEST_URL": "https://pipelines.example/"]
    #expect(try given(environment: environment) == nil)
    // Commands that ask no origin take none.
    let local = try Arguments([], options: [], environment: ["XCACHE_ID_TOKEN": "nonsense"])
    #expect(try GivenIDToken(local) == nil)
  }

  @Test func mistakesDontRepeatTheToken() throws {
    let onCommandLine = #expect(throws: UsageError.self) { try given("--id-token", Self.token) }
    #expect(onCommandLine?.message.contains("XCACHE_ID_TOKEN") == true)
    #expect(onCommandLine?.message.contains("eyJ") == false)
    let broken = #expect(throws: UsageError.self) {
      try given(environment: ["XCACHE_ID_TOKEN": String(Self.token.dropLast(20))])
    }
    #expect(broken?.message.contains("eyJ") == false)
    let file = try folder.write("id-token", "eyJub3Qgb25l")
    let unfit = #expect(throws: Failure.self) { try given("--id-token", file) }
    #expect(unfit?.message == "\(file) contains no ID token: that is three parts with dots in between")
  }

  @Test(
    arguments: [
      "", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJqb2IifQ",
      "eyJhbGciOiJub25lIn0.eyJzdWIiOiJqb2IifQ.c2ln bmF0dXJl",
      "eyJhbGciOiJub25lIn0.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl=", "eyJhbGciOiJub25lIn0..c2lnbmF0dXJl",
      "eyJ" + String(repeating: "A", count: 16_384) + ".eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl",
    ])
  func notIDTokens(_ text: String) { #expect(GivenIDToken.token(text) == nil) }

  // MARK: - GitHub

  @Test func githubIsAskedForThisAudience() throws {
    let request = try #require(try GitHubIDTokens(Self.github)).request(for: "https://origin.example/x")
    #expect(
      request.url
        == "https://pipelines.example/token?api-version=2.0&audience=https%3A%2F%2Forigin.example%2Fx")
    #expect(request.method == "GET" && request.redirects == 0)
    #expect(request.fields["authorization"] == "Bearer github-bearer")
    var other = Self.github
    other["ACTIONS_ID_TOKEN_REQUEST_URL"] = "https://pipelines.example/token"
    #expect(try GitHubIDTokens(other)?.request(for: "a").url == "https://pipelines.example/token?audience=a")
    for place in ["http://localhost:8080/token", "http://127.0.0.5:8080/token", "http://[::1]:8080/token"] {
      other["ACTIONS_ID_TOKEN_REQUEST_URL"] = place
      #expect(try GitHubIDTokens(other)?.request(for: "a").url == place + "?audience=a")
    }
  }

  @Test(
    "The bearer token goes to no other address",
    arguments: [
      "http://pipelines.example/", "http://127.0.0.1.example/", "ftp://pipelines.example/",
      "pipelines.example", "file:///etc/passwd",
      "https://user@pipelines.example/", "https://pipelines.example/#x", "https://pipelines.example/ x",
      "https://pipelines.example/\r\nX: y", "http://127.0.0.1.evil.example/",
      "http://localhost.evil.example/",
      "http://127.0.0.1@evil.example/", "http://128.0.0.1/",
    ])
  func otherAddresses(_ url: String) {
    var environment = Self.github
    environment["ACTIONS_ID_TOKEN_REQUEST_URL"] = url
    #expect(throws: UsageError.self) { try GitHubIDTokens(environment) }
  }

  @Test(arguments: [
    "http://127.0.0.1:8080/t", "http://127.0.0.5/t", "http://localhost/t", "http://[::1]:1/t",
  ])
  func addressesOfThisMachine(_ url: String) throws {
    var environment = Self.github
    environment["ACTIONS_ID_TOKEN_REQUEST_URL"] = url
    #expect(try GitHubIDTokens(environment) != nil)
  }

  // MARK: - What is kept

  private func jobs() throws -> JobTokenFolder {
    try #require(JobTokenFolder(["XDG_CACHE_HOME": folder.path]))
  }

  private static let entry = JobTokenFolder.Entry(
    server: "https://a.example", secret: Array(repeating: 7, count: 32), id: "a1b2c3d4e5f6", endsAt: 42)

  @Test func tokensAreTheirOwnersOnly() throws {
    let jobs = try jobs()
    #expect(jobs.isThere)
    try jobs.locked("x") { try jobs.write(Self.entry, "x") }
    #expect(try Kernel.status(jobs.path)?.mode == 0o700)
    #expect(try Kernel.status(jobs.path + "/x")?.mode == 0o600)
    #expect(try jobs.read("x", server: "https://a.example") == Self.entry)
    // It is sent to no other server.
    #expect(try jobs.read("x", server: "https://b.example") == nil)
    #expect(try jobs.read("y", server: "https://a.example") == nil)
    #expect(Self.entry.token?.hasPrefix("xcache_a1b2c3d4e5f6_BwcH") == true)
  }

  @Test func looseFilesAreRefused() throws {
    let jobs = try jobs()
    #expect(jobs.isThere)
    try jobs.locked("x") { try jobs.write(Self.entry, "x") }
    try Kernel.setMode(jobs.path + "/x", to: 0o644)
    let file = #expect(throws: Failure.self) { try jobs.read("x", server: "https://a.example") }
    #expect(file?.message.contains("chmod go=") == true && file?.message.contains("xcache_") == false)
    try Kernel.rename(jobs.path + "/x", to: jobs.path + "/y")
    folder.link("xcache/jobs/x", to: "y")
    #expect(throws: Failure.self) { try jobs.read("x", server: "https://a.example") }
    try Kernel.setMode(jobs.path, to: 0o755)
    #expect(throws: Failure.self) { try jobs.locked("x") {} }
  }

  @Test func whatIsntAnEntryIsNone() throws {
    let jobs = try jobs()
    #expect(jobs.isThere)
    for text in ["", "{", String(repeating: " ", count: 100_000)] {
      _ = try folder.write("xcache/jobs/x", text)
      try Kernel.setMode(jobs.path + "/x", to: 0o600)
      #expect(try jobs.read("x", server: "https://a.example") == nil)
    }
  }

  @Test func namesTellServersIdentitiesAndTokensApart() {
    let names = [
      JobTokenFolder.name(server: "a", identity: nil, key: "k"),
      JobTokenFolder.name(server: "b", identity: nil, key: "k"),
      JobTokenFolder.name(server: "a", identity: "i", key: "k"),
      JobTokenFolder.name(server: "a", identity: nil, key: "l"),
    ]
    #expect(Set(names).count == 4 && names.allSatisfy { $0.utf8.count == 64 })
  }
}
