import Manifests
import System
import Testing
import TestSupport

@testable import xcache

/// The origin, app, channel and token of a command, and the messages about invalid ones.
@Suite struct RemoteOriginTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  /// The options of most commands; `~/.config` is the test's folder.
  private func remote(_ words: String..., environment: [String: String] = [:]) throws -> RemoteOrigin {
    var environment = environment
    environment["XDG_CONFIG_HOME"] = folder.path
    return try RemoteOrigin(
      Arguments(words, options: Command.remote + Command.channel, environment: environment))
  }

  private func profiles(_ text: String) throws {
    let path = try folder.write("xcache/servers.json", text)
    try Kernel.setMode(path, to: 0o600)
  }

  @Test func flagsPrecedeTheEnvironment() throws {
    let environment = [
      "XCACHE_SERVER": "https://env.example", "XCACHE_APP": "env", "XCACHE_CHANNEL": "env",
      "XCACHE_TOKEN": "env-token",
    ]
    let remote = try remote("--app", "flag", "--token", "flag-token", environment: environment)
    #expect(try remote.server.text == "https://env.example" && remote.app.text == "flag")
    #expect(remote.channel.text == "env" && remote.settings.token == "flag-token")
    #expect(remote.tokenSource == "--token")
    #expect(try self.remote(environment: environment).tokenSource == "XCACHE_TOKEN")
  }

  @Test func missingSettings() throws {
    let remote = try remote()
    #expect(remote.channel == .online && remote.settings.token == nil && remote.tokenSource == nil)
    let server = #expect(throws: UsageError.self) { try remote.server }
    #expect(server?.message.hasPrefix("no server given: use --server URL, set XCACHE_SERVER, ") == true)
    let app = #expect(throws: UsageError.self) { try remote.app }
    let words = "no app given: use --app NAME, set XCACHE_APP, or add \"app\" to xcache.json"
    // The server is missing, too, and both are reported at once.
    #expect(app?.message.hasPrefix("no server given") == true && app?.message.hasSuffix("\n" + words) == true)
  }

  /// A token is only for the server under which it was saved.
  @Test func savedServers() throws {
    try profiles(#"{"servers": {"https://a.example": {"token": "token-a"}}}"#)
    let only = try remote()
    #expect(try only.server.text == "https://a.example" && only.settings.token == "token-a")
    #expect(only.tokenSource == "xcache login")
    let other = try remote("--server", "https://b.example")
    #expect(other.settings.token == nil && other.tokenSource == nil)
    #expect(try remote("--server", "https://a.example/").settings.token == "token-a")
    #expect(try remote("--token", "given").settings.token == "given")
    try profiles(
      #"{"servers": {"https://a.example": {"token": "token-a"}, "https://b.example": {"token": "token-b"}}}"#)
    #expect(throws: UsageError.self) { try remote().server }
    #expect(try remote("--server", "https://b.example").settings.token == "token-b")
  }

  @Test(arguments: [
    ("{", "isn't JSON: it ends too early, at line 1, column 2"),
    ("{}\nx", "isn't JSON: unexpected character at line 2, column 1"),
    (#"{"server":{}}"#, ": server is not a key of servers.json; did you mean servers?"),
    (#"{"servers":[]}"#, ": servers should be an object: {…}"),
    (#"{"servers":{"a.example":{}}}"#, ": servers / a.example should be an http or https URL"),
    (#"{"servers":{"https://a.example":{"token":"two words"}}}"#, "/ token should be a token"),
    (#"{"servers":{"https://a.example":{"cacert":7}}}"#, "/ cacert should be a path"),
    (
      #"{"servers":{"https://a.example":{"tokn":"x"}}}"#,
      "is not a key of servers.json; did you mean token?"
    ),
  ])
  func invalidSavedServers(text: String, message: String) throws {
    try profiles(text)
    let error = #expect(throws: SettingsError.self) { try remote() }
    #expect(error?.message.hasPrefix("\(folder.path)/xcache/servers.json") == true)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    // A command that doesn't need the file isn't affected.
    #expect(try remote("--server", "https://a.example", "--token", "t").settings.token == "t")
  }

  @Test func savedServersReadableByOthers() throws {
    try profiles("{}")
    let path = "\(folder.path)/xcache/servers.json"
    try Kernel.setMode(path, to: 0o640)
    let error = #expect(throws: SettingsError.self) { try remote() }
    #expect(error?.message == "\(path) can be read by others, and it holds a secret: run chmod 600 \(path)")
  }

  // MARK: Tokens

  @Test func tokensInFiles() throws {
    let path = try folder.write("token", "  the-token \nanother\n")
    try Kernel.setMode(path, to: 0o600)
    let remote = try remote("--token-file", path, environment: ["XCACHE_TOKEN": "env"])
    #expect(remote.settings.token == "the-token" && remote.tokenSource == path)
    // An explicit --token has precedence.
    #expect(try self.remote("--token-file", path, "--token", "typed").settings.token == "typed")
    let empty = try folder.write("empty", "\n")
    let error = #expect(throws: Failure.self) { try self.remote("--token-file", empty) }
    #expect(error?.message == "\(empty) contains no token")
  }

  @Test func tokenFileReadableByOthersIsWarnedOf() throws {
    let path = try folder.write("token", "secret-token")
    try Kernel.setMode(path, to: 0o604)
    let warnings = Locked<[String]>([])
    var arguments = try Arguments(["--token-file", path], options: Command.remote, environment: [:])
    arguments.remark = { line in warnings.withLock { $0.append(line) } }
    #expect(try GivenToken(arguments)?.text == "secret-token")
    #expect(
      warnings.withLock { $0 } == [
        "warning: other users of this machine can read the token in \(path): run chmod o= \(path)"
      ])
  }

  /// Messages don't repeat what may be a secret.
  @Test(arguments: ["two words", "new\nline", "\u{1B}[2J", "ä", String(repeating: "x", count: 1025)])
  func invalidTokens(text: String) throws {
    let error = #expect(throws: UsageError.self) { try remote("--token=\(text)") }
    #expect(
      error?.message == "--token doesn't contain a token: it has spaces or characters that tokens don't have")
    let variable = #expect(throws: UsageError.self) { try remote(environment: ["XCACHE_TOKEN": text]) }
    #expect(variable?.message.hasPrefix("XCACHE_TOKEN doesn't contain a token") == true)
  }

  // MARK: Certificates

  @Test func invalidCertificates() throws {
    let text = try folder.write("text", "no certificate")
    func message(_ path: String) throws -> String? {
      #expect(throws: Failure.self) { try remote("--cacert", path) }?.message
    }
    #expect(
      try message(folder.path) == "--cacert \(folder.path) is a folder; expected a file of PEM certificates")
    #expect(try message("/no/file") == "--cacert /no/file: no such file; expected a file of PEM certificates")
    #expect(
      try message(text)
        == "--cacert \(text) contains no PEM certificate, which begins with -----BEGIN CERTIFICATE-----")
    try profiles(#"{"servers": {"https://a.example": {"token": "t", "cacert": "/no/file"}}}"#)
    let kept = #expect(throws: Failure.self) { try remote() }
    #expect(
      kept?.message.hasPrefix("/no/file, which xcache login keeps for https://a.example: no such file")
        == true)
  }

  // MARK: Texts as values

  /// Text that may contain a secret isn't repeated.
  @Test(arguments: [
    ("origin.example.com", "origin.example.com has no scheme: write https://… or http://…"),
    ("ftp://o.example", "ftp://o.example has the scheme ftp, and only http and https are possible"),
    (
      "https://me:secret@o.example/x",
      "https://…@o.example/x has a user name or a password in it; write it without"
    ),
    (
      "https://o.example/?token=secret",
      "https://o.example/?… has a query or a fragment; write it without what follows the ? or #"
    ),
    ("https://", "https:// has no host"),
    ("https://o.example:99999", "https://o.example:99999 has no valid port"),
    ("https://o.example/a\nb", "it has a tab or a line break in it"),
    ("https://ö.example", "the host of https://ö.example has to be written in its ASCII form (xn--…)"),
  ])
  func invalidAddresses(text: String, reason: String) {
    let error = #expect(throws: SettingsError.self) { try SettingsValue.url(text, in: "--server") }
    #expect(error?.message == "--server should be an http or https URL; \(reason)")
    #expect(error?.message.contains("secret") == false)
  }

  @Test(arguments: ["a\u{1B}b", "", "7up", String(repeating: "a", count: 65)]) func invalidNames(
    text: String
  ) {
    let error = #expect(throws: SettingsError.self) { try SettingsValue.app(text, in: "--app") }
    #expect(
      error?.message
        == "--app should be an app's name (a letter, then letters, digits, - and _, at most 64), not "
        + text.debugDescription)
  }
}
