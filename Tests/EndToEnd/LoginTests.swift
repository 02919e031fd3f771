import Manifests
import SocketServer
import System
import Testing
import TestSupport

/// What `xcache login` saves, and which servers get the token.
@Suite("Logging in") struct LoginTests {
  /// Runs `xcache` without a server or token in its environment.
  private static func run(_ words: [String], in scratch: Scratch, _ more: [String: String] = [:]) throws
    -> Outcome
  {
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": scratch.path, "XCACHE_APP": "shop", "SWIFT_BACKTRACE": "enable=no",
    ]
    environment.merge(more) { $1 }
    return try Outcome(try Child([Binary.path] + words, environment: environment, in: scratch.path))
  }

  private static func file(_ scratch: Scratch) -> String { scratch.path + "/.config/xcache/servers.json" }

  @Test("A token is saved for its owner only, is used for its server, and is removed by logout")
  func savesAndForgets() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let scratch = try Scratch()
      let login = ["login", site.url, "--token-file", "\(site.data)/admin.token"]
      let outcome = try Self.run(login, in: scratch)
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      #expect(outcome.output.contains("1 channel;") && !outcome.output.contains(site.token))
      #expect(try Kernel.status(Self.file(scratch))?.mode == 0o600)
      #expect(try Kernel.status(scratch.path + "/.config/xcache")?.mode == 0o700)
      // The only known server, with and without its name.
      #expect(try Self.run(["token", "list"], in: scratch).exitCode == 0)
      #expect(try Self.run(["status", "--server", site.url], in: scratch).exitCode == 0)
      // An explicit token has precedence.
      let wrong = try Self.run(["token", "list"], in: scratch, ["XCACHE_TOKEN": "xcache_1_2"])
      #expect(wrong.exitCode == 1 && wrong.errors.contains("It came from XCACHE_TOKEN"))
      #expect(try Self.run(["logout"], in: scratch).exitCode == 0)
      #expect(try Self.run(["token", "list"], in: scratch).exitCode == 2)
    }
  }

  @Test("A token that the server refuses isn't saved, and the previous file is kept") func refused()
    throws
  {
    try Site.with { site in
      let scratch = try Scratch()
      #expect(try Self.run(["login", site.url, "--token", site.token], in: scratch).exitCode == 0)
      let before = try DurableFile.read(Self.file(scratch))
      #expect(try Self.run(["login", site.url, "--token", "xcache_1_2"], in: scratch).exitCode == 1)
      #expect(
        try Self.run(["login", "http://127.0.0.1:1", "--token", site.token], in: scratch).exitCode == 1)
      #expect(try DurableFile.read(Self.file(scratch)) == before)
    }
  }

  @Test("The token is sent to no other server: by --server, xcache.json or a redirect")
  func tokenStaysWithItsServer()
    throws
  {
    let received = Locked<[SocketServer.Request]>([])
    let other = SocketServer { request in
      received.withLock { $0.append(request) }
      return .answer(body: Array("{}".utf8))
    }
    let otherURL = other.url
    let redirects = Locked(false)
    let known = SocketServer { request in
      if redirects.withLock({ $0 }) { return .answer(302, [("Location", otherURL + request.path)]) }
      return .answer(body: Array(#"{"channels":[],"defaultApp":null}"#.utf8))
    }
    let scratch = try Scratch()
    let login = try Self.run(["login", known.url, "--token", "xcache_secret"], in: scratch)
    #expect(login.exitCode == 0, "\(login.errors)")
    redirects.withLock { $0 = true }
    // The redirect isn't followed: an origin never redirects.
    #expect(try Self.run(["channel", "list", "--server", known.url], in: scratch).exitCode == 1)
    #expect(received.withLock { $0.isEmpty })
    _ = try Self.run(["channel", "list", "--server", other.url], in: scratch)
    try scratch.write("xcache.json", #"{"server":"\#(other.url)"}"#)
    _ = try Self.run(["channel", "list"], in: scratch)
    // Another name of the same host counts as another server.
    _ = try Self.run(["channel", "list", "--server", "http://localhost:\(other.port)"], in: scratch)
    let requests = received.withLock { $0 }
    #expect(requests.count >= 3)
    for request in requests { #expect(request.fields["authorization"] == nil) }
  }

  @Test(
    "A file that others may read, or that isn't valid, is refused when its token is needed",
    arguments: [
      (#"{"servers":{}}"#, 0o644, "chmod 600"), ("{", 0o600, "isn't JSON"),
      (#"{"servers":{"here":{}}}"#, 0o600, "an http or https URL"),
      (#"{"servers":{"http://a":{"token":"a b"}}}"#, 0o600, "should be a token"),
      (#"{"servers":{"http://a":{"tokn":"a"}}}"#, 0o600, "is not a key"),
      (String(repeating: " ", count: 300_000), 0o600, "can't be read"),
    ] as [(String, UInt32, String)])
  func refusesFile(_ text: String, _ mode: UInt32, _ words: String) throws {
    let scratch = try Scratch()
    try Kernel.makeFolder(DurableFile.parent(of: Self.file(scratch)))
    try DurableFile.write(Array(text.utf8), to: Self.file(scratch), mode: mode)
    let outcome = try Self.run(["status", "--server", "http://127.0.0.1:1"], in: scratch)
    #expect(outcome.exitCode == 2 && outcome.errors.contains(words), "\(outcome.errors)")
    // With all options given, the file isn't needed.
    let given = try Self.run(
      ["status", "--server", "http://127.0.0.1:1", "--token", "xcache_1_2"], in: scratch)
    #expect(given.exitCode == 1 && given.errors.contains("nothing answers"), "\(given.errors)")
  }

  @Test("If a connection without TLS is reset, the message suggests https") func plain() throws {
    let server = SocketServer { _ in [.reset] }
    let outcome = try Self.run(["status", "--server", server.url], in: try Scratch())
    #expect(outcome.exitCode == 1 && outcome.errors.contains("use https://"), "\(outcome.errors)")
  }

  @Test("init writes a first xcache.json, which publish uses; it overwrites nothing without --force")
  func initialise() throws {
    try Site.with { site in
      try site.scratch.folder("dist", ["index.html": "<!doctype html><meta charset=\"utf-8\">hello"])
      let words = ["init", "--app", "shop", "--dir", "dist", "--base-url", "https://m.example.com/shop"]
      let made = try Outcome(try site.start(words))
      #expect(made.exitCode == 0, "\(made.errors)")
      let published = try site.run("publish", "--create", "--now")
      #expect(published.exitCode == 0 && published.output.contains("version 1"), "\(published.errors)")
      let again = try Outcome(try site.start(words))
      #expect(again.exitCode == 3 && again.errors.contains("--force"))
      let forced = try Outcome(try site.start(words + ["--force", "--bundle", "other", "--json"]))
      #expect(forced.exitCode == 0 && forced.output.contains("\"other\""), "\(forced.errors)")
    }
  }
}
