import Glibc
import System
import Testing
import TestSupport
import Values

@Suite("Webhooks, with a receiver that checks signatures independently")
struct WebhookTests {
  /// `Tests/Webhooks/receiver.py`, on a free port.
  final class Receiver {
    let scratch: Scratch
    private(set) var process: Child?
    private(set) var port: UInt16 = 0
    private var secrets = ""
    private var modes: [String: String] = [:]
    /// Certificate and key for https; empty for http.
    private let files: [String]

    init() throws {
      (scratch, files) = (try Scratch(), [])
      try start()
    }

    init(certificate: String, key: String) throws {
      (scratch, files) = (try Scratch(), [certificate, key])
      try start()
    }

    func start() throws {
      let script = Repository.root + "/Tests/Webhooks/receiver.py"
      let words = ["python3", script, scratch.path, "\(port)"] + files
      let process = try Child(words, environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"], in: scratch.path)
      self.process = process
      try #require(Wait.until(30) { process.standardOutput.hasSuffix("\n") || process.hasEnded })
      port = try #require(UInt16(process.standardOutput.filter { !$0.isNewline }), "\(process.standardError)")
    }

    func stop() throws {
      process?.signal(SIGKILL)
      _ = try process?.wait()
    }

    /// Makes a path answer with a status, or hang.
    func answer(_ path: String, _ mode: String) throws {
      modes[path] = mode
      _ = try scratch.write("modes", modes.map { "\($0) \($1)\n" }.joined())
    }

    /// The requests to a path, in order.
    func log(_ path: String) throws -> [JSONValue] {
      let text = String(decoding: try DurableFile.read(scratch.path + "/log") ?? [], as: UTF8.self)
      return try text.split(separator: "\n").map { try JSONValue.parse(Array($0.utf8)) }.filter {
        $0["path"]?.string == path
      }
    }

    /// Waits for that many messages at a path.
    func wait(_ path: String, _ count: Int, seconds: Double = 20) throws -> [JSONValue] {
      _ = try Wait.until(seconds) { try log(path).count >= count }
      let all = try log(path)
      #expect(all.count == count, "\(all)")
      return all
    }

    /// Adds a webhook for a path, gives the receiver its secret, and returns the webhook's id.
    func add(_ site: Site, _ path: String, _ more: [String] = []) throws -> String {
      let words = ["webhook", "add", "http://127.0.0.1:\(port)\(path)", "--allow-private", "--json"] + more
      let outcome = try Outcome(try site.start(words))
      try #require(outcome.exitCode == 0, "\(outcome.errors)")
      let made = try JSONValue.parse(Array(outcome.output.utf8))
      let secret = try #require(made["secret"]?.string)
      secrets += "\(path) \(secret)\n"
      _ = try scratch.write("secrets", secrets)
      return try #require(made["webhook"]?["id"]?.string)
    }
  }

  private func freeze(_ site: Site, _ reason: String, channel: String = "online") throws {
    let outcome = try site.run("channel", "freeze", "--app", "shop", "--channel", channel, "-m", reason)
    try #require(outcome.exitCode == 0, "\(outcome.errors)")
  }

  private func show(_ site: Site, _ id: String) throws -> JSONValue {
    try JSONValue.parse(Array(try site.run("webhook", "show", id, "--json").output.utf8))
  }

  private func reasons(_ log: [JSONValue]) -> [String] {
    log.map { $0["body"]?["data"]?["reason"]?.string ?? "-" }
  }

  @Test("Acts are delivered with signatures, in the webhook's format")
  func delivers() throws {
    let receiver = try Receiver()
    try Site.with { site in
      let id = try receiver.add(site, "/json")
      _ = try receiver.add(site, "/slack", ["--template", "slack", "--events", "rollback,kill"])
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2", "b.js": "2"])
      for words in [
        ["rollback", "--bundle", "main", "--steps", "1", "--app", "shop", "-m", "white <pages> & more"],
        ["policy", "kill", "--app", "shop", "-m", "it burns"], ["policy", "resume", "--app", "shop"],
      ] {
        let outcome = try Outcome(try site.start(words))
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
      }
      let messages = try receiver.wait("/json", 5, seconds: 60)
      #expect(
        messages.map { $0["body"]?["type"]?.string } == ["release", "release", "rollback", "kill", "resume"])
      #expect(
        messages.allSatisfy {
          $0["verified"]?.bool == true && $0["contentType"]?.string == "application/json"
        })
      #expect(Set(messages.compactMap { $0["id"]?.string }).count == 5)
      #expect(messages[1]["body"]?["data"]?["version"]?.string == "2")
      let words = try receiver.wait("/slack", 2, seconds: 60)
      #expect(words.allSatisfy { $0["verified"]?.bool == true })
      #expect(
        words[0]["body"]?["text"]?.string?.contains("white &lt;pages&gt; &amp; more") == true, "\(words)")
      // The secret is not shown again, and the path isn't logged.
      let list = try site.run("webhook", "list", "--json")
      #expect(list.output.contains(id) && !list.output.contains("whsec_"))
      #expect(try !site.run("audit", "export").output.contains("whsec_"))
      #expect(!site.server.standardError.contains("/json"))
      let test = try site.run("webhook", "test", id)
      #expect(test.exitCode == 0 && test.output.contains("the receiver answered 200"), "\(test.errors)")
      #expect(try receiver.wait("/json", 6).last?["body"]?["type"]?.string == "test")
      let deliveries = try site.run("webhook", "deliveries", id)
      #expect(deliveries.output.split(separator: "\n").count == 7, "\(deliveries.output)")
      #expect(
        try site.web.ask("/metrics").text.contains("xcache_webhook_attempts_total{result=\"delivered\"} 8"))
      #expect(try site.run("webhook", "remove", id).exitCode == 0)
      try site.publish(["a.js": "3"])
      #expect(try site.run("webhook", "show", id).exitCode == 1)
      #expect(try receiver.log("/json").count == 6)
    }
  }

  @Test("A failed delivery is retried with the same id; its channel waits, others don't")
  func order() throws {
    let receiver = try Receiver()
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try #require(
        try site.run(
          "channel", "create", "--app", "shop", "--channel", "test", "--public-url",
          "https://cdn.example.com/x"
        ).exitCode == 0)
      try receiver.answer("/hook", "500")
      let id = try receiver.add(site, "/hook", ["--events", "freeze"])
      try freeze(site, "one")
      _ = try receiver.wait("/hook", 1)
      try freeze(site, "two")
      try freeze(site, "other", channel: "test")
      // The other channel's message arrives though the first channel's fails; the second message of the first channel waits.
      #expect(try Wait.until(60) { try reasons(receiver.log("/hook")).contains("other") })
      #expect(try !reasons(receiver.log("/hook")).contains("two"))
      try receiver.answer("/hook", "200")
      #expect(try Wait.until(90) { try reasons(receiver.log("/hook")).contains("two") })
      let all = try receiver.log("/hook")
      let ones = all.filter { reasons([$0]) == ["one"] }
      #expect(ones.count > 1 && Set(ones.compactMap { $0["id"]?.string }).count == 1)
      #expect(reasons(all).filter { $0 != "other" } == reasons(ones) + ["two"], "\(reasons(all))")
      #expect(Wait.until(90) { (try? show(site, id)["waiting"]?.integer) == 0 })
      #expect(site.server.standardError.contains("status 500; it is tried again"))
    }
  }

  @Test(
    "A message for a receiver that is down is delivered once it is up, though the origin was killed meanwhile"
  )
  func killed() throws {
    let receiver = try Receiver()
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let id = try receiver.add(site, "/hook")
      try receiver.answer("/hook", "hang")
      try freeze(site, "before the crash")
      let firstAttempt = try receiver.wait("/hook", 1)[0]
      // The attempt is still running, and nothing is recorded yet.
      site.server.signal(SIGKILL)
      _ = try site.server.wait()
      try receiver.stop()
      try site.start()
      try freeze(site, "while it is down")
      #expect(try Wait.until(30) { try show(site, id)["last"]?["attempts"]?.integer ?? 0 > 0 })
      try site.crash()
      try receiver.answer("/hook", "200")
      try receiver.start()
      let all = try receiver.wait("/hook", 3, seconds: 90)
      #expect(reasons(all) == ["before the crash", "before the crash", "while it is down"])
      #expect(all.allSatisfy { $0["verified"]?.bool == true })
      #expect(all[1]["id"] == firstAttempt["id"] && all[2]["id"] != firstAttempt["id"])
    }
  }

  @Test("A receiver that hangs delays neither others, nor acts, nor the shutdown")
  func hangs() throws {
    let receiver = try Receiver()
    try Site.with { site in
      try receiver.answer("/hang", "hang")
      _ = try receiver.add(site, "/hang")
      _ = try receiver.add(site, "/hook")
      for number in 1...3 { try site.publish(["a.js": "\(number)"]) }
      _ = try receiver.wait("/hook", 3, seconds: 60)
      #expect(Set(try receiver.log("/hang").compactMap { $0["id"]?.string }).count == 1)
      let stop = Clock.monotonicNanoseconds()
      site.server.signal(SIGTERM)
      #expect(try site.server.wait(seconds: 15) == 0)
      #expect(Clock.monotonicNanoseconds() - stop < 8_000_000_000)
      try receiver.stop()
      try site.start()
    }
  }

  @Test("A redirect isn't followed, and 410 disables the webhook")
  func redirectsAndGone() throws {
    let receiver = try Receiver()
    try Site.with { site in
      try site.publish(["a.js": "1"])
      for (path, mode) in [("/redirect", "307"), ("/gone", "410")] { try receiver.answer(path, mode) }
      let redirect = try receiver.add(site, "/redirect")
      let gone = try receiver.add(site, "/gone")
      try freeze(site, "one")
      _ = try receiver.wait("/redirect", 1)
      _ = try receiver.wait("/gone", 1)
      #expect(try Wait.until(10) { try show(site, gone)["disabledReason"]?.string != nil })
      #expect(try Wait.until(10) { try show(site, redirect)["last"]?["status"]?.integer == 307 })
      #expect(try receiver.log("/elsewhere").isEmpty)
      try freeze(site, "two")
      let test = try site.run("webhook", "test", gone)
      #expect(test.exitCode == 3 && test.errors.contains("410 Gone"), "\(test.errors)")
      #expect(try site.run("webhook", "deliveries", gone).output.split(separator: "\n").count == 2)
      #expect(try site.run("status").output.contains("is disabled since"))
      #expect(try site.web.ask("/metrics").text.contains("xcache_webhooks_disabled 1"))
      // A test message is tried once, after the pending one.
      #expect(
        try show(site, redirect)["last"]?["error"]?.string?.contains("redirects aren't followed") == true)
      #expect(try receiver.log("/gone").count == 1)
    }
  }

  @Test(
    "URLs in private networks are refused",
    arguments: [
      ("http://example.com/hook", "must be https"), ("https://127.0.0.1/", "private network"),
      ("https://10.1.2.3:8443/x", "private network"), ("https://0x7f.1/", "private network"),
      ("https://[::1]/", "private network"), ("https://[fd00::1]/", "private network"),
      ("https://100.64.0.1/", "private network"), ("https://localhost/", "private network"),
      ("https://a.localhost/", "private network"), ("https://[::ffff:127.0.0.1]/", "no address of a host"),
      ("https://169.254.169.254/latest", "no address of a host"),
      ("https://0.0.0.0/", "no address of a host"),
      ("https://[64:ff9b::7f00:1]/", "private network"), ("https://[64:ff9b:1::1]/", "no address of a host"),
      ("https://[2002:7f00:1::]/", "no address of a host"), ("https://[fe80::1]/", "no address of a host"),
      ("https://192.88.99.1/", "no address of a host"), ("https://localhost./", "private network"),
      ("https://[ff02::1]/", "no address of a host"), ("ftp://example.com/", "URL"),
      ("https://user:secret@example.com/", "URL"),
    ])
  func privateAddresses(url: String, words: String) throws {
    try Shared.site { shared in
      let outcome = try shared.site.run("webhook", "add", url)
      #expect(outcome.exitCode != 0 && outcome.errors.contains(words), "\(outcome.errors)")
      #expect(outcome.output.isEmpty)
    }
  }

  @Test("Host names are checked by the address that is connected to", .enabled(if: Privileges.canMount))
  func names() throws {
    let receiver = try Receiver()
    let hosts = try receiver.scratch.write(
      "hosts",
      "127.0.0.1 localhost\n127.0.0.1 hooks.example.com\n::ffff:127.0.0.1 mapped.example.com\n"
        + "169.254.169.254 metadata.example.com\n")
    let launcher = { (_: String) in
      ["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\"", hosts]
    }
    try Site.with(launcher: launcher) { site in
      for (host, says, isAllowed) in [
        ("hooks", "127.0.0.1", false), ("mapped", "127.0.0.1", false), ("metadata", "169.254.169.254", true),
      ] {
        let more = isAllowed ? ["--allow-private"] : []
        let words = ["webhook", "add", "https://\(host).example.com:\(receiver.port)/hook", "--json"] + more
        let outcome = try Outcome(try site.start(words))
        let made = try JSONValue.parse(Array(outcome.output.utf8))
        let id = try #require(made["webhook"]?["id"]?.string, "\(outcome.errors)")
        let test = try site.run("webhook", "test", id)
        #expect(test.exitCode == 1 && test.errors.contains("where nothing is sent"), "\(test.errors)")
        #expect(test.errors.contains(says) || host == "mapped", "\(test.errors)")
        #expect(test.errors.contains("--allow-private") != isAllowed, "\(test.errors)")
      }
      #expect(try receiver.log("/hook").isEmpty)
      // With --allow-private, the same name is accepted.
      let words = [
        "webhook", "add", "http://hooks.example.com:\(receiver.port)/hook", "--allow-private", "--json",
      ]
      let made = try JSONValue.parse(Array(try Outcome(try site.start(words)).output.utf8))
      let test = try site.run("webhook", "test", made["webhook"]?["id"]?.string ?? "")
      #expect(test.exitCode == 0, "\(test.errors)")
    }
  }

  @Test("Only an unrestricted admin may add or see webhooks, and mistakes are reported")
  func mistakes() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let made = try site.run("token", "create", "ci", "--scope", "admin", "--app", "shop", "--no-expiry")
      let token = made.output.filter { !$0.isWhitespace }
      for words in [
        ["add", "https://ci.example.com/"], ["list"], ["show", "1a2b3c4d"], ["test", "1a2b3c4d"],
        ["deliveries", "1a2b3c4d"], ["remove", "1a2b3c4d"],
      ] {
        let outcome = try Outcome(try site.start(["webhook"] + words, token: token))
        #expect(
          outcome.exitCode == 1 && outcome.errors.contains("unrestricted admin token"), "\(outcome.errors)")
      }
      let unknown = try site.run("webhook", "add", "https://ci.example.com/", "--events", "realease")
      #expect(unknown.exitCode == 2 && unknown.errors.contains("did you mean release?"), "\(unknown.errors)")
      #expect(unknown.errors.contains("mirror-late"))
      let answer = try site.api(
        "POST", "webhooks", ["url": "https://ci.example.com/", "events": ["deploy"]])
      #expect(answer.status == 400 && answer.json["detail"]?.string?.contains("mirror-late") == true)
      #expect(try site.run("webhook", "show", "nothing").exitCode == 1)
      // A secret given by the client isn't printed.
      let secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
      let file = try site.scratch.write("secret", secret + "\n")
      let own = try site.run(
        "webhook", "add", "https://ci.example.com/", "--secret-file", file, "--app", "shpo")
      #expect(own.exitCode == 0 && !own.output.contains("whsec_") && !own.errors.contains("whsec_"))
      #expect(own.errors.contains("did you mean shop?"), "\(own.errors)")
      let bad = try site.scratch.write("bad", "whsec_short")
      let refused = try site.run("webhook", "add", "https://ci.example.com/", "--secret-file", bad)
      #expect(refused.exitCode == 1 && refused.errors.contains("24 to 64"), "\(refused.errors)")
      // A client that gives no secret gets a new one, once.
      let created = try site.api("POST", "webhooks", ["url": "https://ci.example.com/api"])
      #expect(created.status == 201 && created.json["secret"]?.string?.hasPrefix("whsec_") == true)
      let id = created.json["webhook"]?["id"]?.string ?? ""
      #expect(try site.api("GET", "webhooks/\(id)").json["secret"] == nil)
    }
  }
}
