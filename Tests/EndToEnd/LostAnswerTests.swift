import Glibc
import Manifests
import System
import Testing
import TestSupport

/// Runs every changing command through a proxy that loses the first answer to each request, and on a second origin without the proxy: each
/// act happens once, with the same output and exit code.
@Suite("Retries act once")
struct LostAnswerTests {
  /// `DIR` stands for a folder that each origin has for itself.
  private static let steps: [[String]] = [
    publish("1"), publish("2"), publish("3", "--if-version", "2"), publish("4", "--json"),
    ["rollback", "--steps", "1", "--all-bundles"],
    ["rollback", "--to", "1", "--bundle", "main", "--if-version", "5", "--json"],
    ["prefetch", "push", "DIR/prefetch-1.json"],
    ["prefetch", "push", "DIR/prefetch-2.json", "--if-version", "1"],
    ["prefetch", "rollback", "--to", "1"],
    ["policy", "kill", "-m", "trouble"], ["policy", "resume", "--if-version", "1"],
    ["policy", "bypass", "add", "https://third.example.com/*"],
    ["policy", "bypass", "remove", "https://third.example.com/*"],
    ["policy", "set", "DIR/policy.json"],
    ["policy", "script", "add", "DIR/hook.js", "--signature", Base64.encode(.init(repeating: 7, count: 64))],
    ["policy", "script", "remove", "hook"],
    ["channel", "create", "--channel", "test"], ["channel", "create", "--channel", "gone", "--json"],
    ["channel", "remove", "--channel", "gone"],
    ["channel", "set", "--interval", "90"],
    ["channel", "freeze", "--channel", "test", "--reason", "a freeze"],
    ["channel", "thaw", "--channel", "test"],
    ["promote", "--from", "online", "--to", "test", "--create", "--with-prefetch"],
    ["pin", "2", "a reason"], ["pin", "remove", "2", "--json"],
    ["token", "create", "ci", "--scope", "publish", "--all-apps", "--no-expiry"],
    ["token", "create", "more", "--all-apps", "--no-expiry", "--scope", "read", "--json"],
    ["token", "revoke", "ci"],
    ["mirror", "--to", "DIR/copy", "--name", "copy", "--keep", "0"],
    ["mirror", "--to", "DIR/copy", "--name", "s3://gone/a b+c%2F", "--keep", "0"],
    ["mirror", "forget", "s3://gone/a b+c%2F"],
    publish("1", "--app", "other"), ["channel", "default-app", "other"],
    ["gc", "--keep-versions", "1", "--keep-days", "0"],
    ["unpublish", "--bundle", "main"],
  ]

  private static func publish(_ number: String, _ more: String...) -> [String] {
    let bundle = ["--bundle", "main", "--base-url", Site.base]
    return ["publish", "--create", "DIR/build-\(number)"] + bundle + more
  }

  private static func lay(out scratch: Scratch) throws {
    for number in 1...4 {
      try scratch.folder("build-\(number)", ["index.html": "<p>\(number)", "app.js": "let a = \(number)"])
      let call = "https://m.example.com/api/\(number)"
      try scratch.write(
        "prefetch-\(number).json",
        #"[{"url":"\#(Site.base)/index.html","interfaces":[{"api":"\#(call)","method":"GET"}]}]"#)
    }
    try scratch.write(
      "policy.json", #"{"bypass":["https://set.example.com/*"],"intercept":true,"scripts":[]}"#)
    try scratch.write("hook.js", "console.log(1)")
  }

  /// Runs a command with the admin token, and returns its outcome without what differs from run to run.
  private static func run(_ words: [String], _ site: Site, server: String) throws -> String {
    let words = words.map { $0.replacing("DIR", with: site.scratch.path) }
    let namesNone = ["token", "gc", "mirror"].contains(words[0]) || words.contains("--app")
    let named = ["--server", server] + (namesNone ? [] : ["--app", "shop"])
    let outcome = try Outcome(try site.start(words + named), seconds: 120)
    return "exit \(outcome.exitCode)\n" + stable(outcome.output + outcome.errors, site)
  }

  private static func stable(_ text: String, _ site: Site) -> String {
    text.replacing(site.scratch.path, with: "DIR")
      // Messages about lost answers.
      .replacing(/[^\n]*; trying again in [0-9.]+ s\n/, with: "")
      .replacing(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)?/, with: "TIME")
      // Hints name a server that isn't the default.
      .replacing(/127\.0\.0\.1:\d+/, with: "ORIGIN")
      .replacing(/xcache_[0-9a-f]{12}_[A-Za-z0-9_\-]{43}/, with: "TOKEN")
      .replacing(/"id":"[0-9a-f]+"/, with: "ID").replacing(/[0-9a-f]{64}/, with: "HASH")
      .replacing(/"(sentBytes|milliseconds)":\d+/, with: "").replacing(/made in \d+ ms/, with: "made")
      // Times in a mirror's own documents.
      .replacing(/files, [0-9.,]+ [kMG]?B/, with: "files")
  }

  private static func rows(_ site: Site) throws -> [String] {
    try (site.api("GET", "audit?limit=1000").json["rows"]?.array ?? []).reversed().map { row in
      let result = row["result"]?.string ?? ""
      let parameters = row["parameters"]?.string ?? ""
      return stable("\(row["act"]?.string ?? "?") \(parameters) \(result)", site)
        .replacing(/"(id|bytes|freedBytes|temporary)":("[0-9a-f]+"|\d+)/, with: "")
    }
  }

  @Test(
    "Each changing command acts once, and reports it, though the first answer is lost",
    arguments: LosingProxy.Loss.allCases)
  func everyCommand(_ loss: LosingProxy.Loss) throws {
    let options = ["--public-url", "https://cdn.example.com/x"]
    try Site.with(options) { twin in
      try Site.with(options) { site in
        try Self.lay(out: site.scratch)
        try Self.lay(out: twin.scratch)
        let proxy = LosingProxy(to: site.port, loss)
        for words in Self.steps {
          let before = proxy.lost.count
          let expected = try Self.run(words, twin, server: twin.url)
          let actual = try Self.run(words, site, server: proxy.url)
          #expect(actual == expected, "\(words)")
          #expect(proxy.lost.count > before, "no answer to \(words) was lost")
          #expect(expected.hasPrefix("exit 0"), "\(words): \(expected)")
        }
        let (rows, twins) = (try Self.rows(site), try Self.rows(twin))
        #expect(rows == twins)
        #expect(try site.poll()["data"]?["version"] == twin.poll()["data"]?["version"])
        #expect(try site.api("GET", "mirrors").json["mirrors"]?.array?.count == 1)
      }
    }
  }

  @Test("A token created by a request whose answer was lost works")
  func token() throws {
    try Site.with { site in
      let proxy = LosingProxy(to: site.port, .reset)
      let made = try site.run(
        "token", "create", "ci", "--all-apps", "--no-expiry", "--scope", "admin", "--server", proxy.url)
      let text = made.output.filter { !$0.isWhitespace }
      #expect(made.exitCode == 0 && !proxy.lost.isEmpty, "\(made.errors)")
      #expect(try site.run("token", "list", token: text).exitCode == 0)
    }
  }

  @Test("An origin that is killed between the act and its answer answers the retry like one that wasn't")
  func killed() throws {
    try Site.with { site in
      for number in 1...3 { try site.publish(["a.js": "\(number)"]) }
      let process = site.server.id
      let proxy = LosingProxy(to: site.port, .reset) { _ in kill(process, SIGKILL) }
      let words = ["rollback", "--steps", "1", "--all-bundles", "--app", "shop", "--server", proxy.url]
      let rollback = try site.start(words)
      _ = try site.server.wait()
      try site.start()
      let outcome = try Outcome(rollback)
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      #expect(outcome.output.contains("version 4 with the content of version 2"), "\(outcome.output)")
      #expect(try site.poll()["data"]?["version"]?.string == "4")
    }
  }
}
