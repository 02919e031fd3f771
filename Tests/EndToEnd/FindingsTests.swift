import SocketServer
import System
import Testing
import TestSupport
import Values

/// Progress, findings and warnings of commands, as text and as JSON.
@Suite("Findings, retries and warnings") struct FindingsTests {
  private static let base = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"]

  private static func run(
    _ words: [String], in scratch: Scratch, _ more: [String: String] = [:]
  ) throws -> Outcome {
    let environment = base.merging(["HOME": scratch.path]) { $1 }.merging(more) { $1 }
    return try Outcome(try Child([Binary.path] + words, environment: environment, in: scratch.path))
  }

  /// Parses the single document that a command printed, and checks its code and the exit code.
  private static func problem(_ outcome: Outcome, _ code: String, exit: Int32) throws -> JSONValue {
    let document = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(outcome.exitCode == exit, "\(outcome.errors)")
    #expect(document["code"]?.string == code && document["exitCode"]?.integer == Int64(exit))
    #expect(document["detail"]?.string?.isEmpty == false)
    return document
  }

  @Test("Findings and the failure are one document") func documents() throws {
    try Site.with { site in
      try site.publish(["a.js": "1", "b.js": "2"])
      #expect(try site.run("mirror", "--to", "www").exitCode == 0)
      let right = try site.run("mirror", "verify", "www", "--json")
      #expect(right.exitCode == 0 && !right.output.contains("exitCode"))
      let www = site.scratch.path + "/www"
      let name = try #require(try Scratch.contents(www).keys.first { $0.hasSuffix(".js") })
      try Kernel.remove("\(www)/\(name)")
      let verified = try Self.problem(
        try site.run("mirror", "verify", "www", "--json"), "divergent", exit: 1)
      #expect(verified["divergences"]?.array?.count == 1)

      let blobs = try Scratch.contents(site.data + "/blobs").keys.sorted()
      try Kernel.remove("\(site.data)/blobs/\(blobs[0])")
      let doctor = try Self.problem(
        try site.run("doctor", "--data", site.data, "--json"), "damaged", exit: 1)
      #expect(doctor["findings"]?.array?.isEmpty == false)
      let backup = try Self.problem(
        try site.run("backup", "--data", site.data, "--to", "b", "--json"), "damaged", exit: 1)
      #expect(backup["damaged"]?.array?.count == 1)

      try site.scratch.folder(
        "page", ["index.html": "<!doctype html><meta charset=utf-8><script src=gone.js></script>"])
      let checked = try Self.problem(
        try site.run("check", "page", "--base-url", Site.base, "--json"), "check", exit: 3)
      #expect(checked["findings"]?.array?.count == 1)
      try site.scratch.write("prefetch.json", "[{\"url\": 1}]")
      let prefetch = try Self.problem(
        try site.run("prefetch", "check", "prefetch.json", "--json"), "refused", exit: 3)
      #expect(prefetch["valid"]?.bool == false)
      let exported = try site.run("audit", "export").output.replacing("\"shop\"", with: "\"mall\"")
      try site.scratch.write("audit.jsonl", exported)
      let audit = try Self.problem(
        try site.run("audit", "verify", "--file", "audit.jsonl", "--json"), "audit", exit: 3)
      #expect(audit["intact"]?.bool == false)
    }
  }

  @Test("An unknown host is a failure with one document") func names() throws {
    let outcome = try Self.run(["device", "dns", "nobody.invalid", "--json"], in: try Scratch())
    let document = try Self.problem(outcome, "no-address", exit: 1)
    #expect(document["asked"]?.array?.isEmpty == false)
  }

  @Test("Retries are reported at once, unless --quiet is given", arguments: [false, true])
  func retries(isQuiet: Bool) throws {
    let count = Locked(0)
    let server = SocketServer { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number < 3 ? .answer(503) : .answer(body: Array(#"{"channels":[],"defaultApp":null}"#.utf8))
    }
    let words = ["channel", "list", "--server", server.url] + (isQuiet ? ["-q"] : [])
    let outcome = try Self.run(words, in: try Scratch())
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(
      outcome.errors.hasPrefix("\(server.url): status 503; trying again in 0.") != isQuiet,
      "\(outcome.errors)")
    #expect(!isQuiet || outcome.errors.isEmpty)
  }

  @Test("mirror reports at once that the server is down, and keeps trying") func mirrorWithoutServer() throws
  {
    let scratch = try Scratch()
    let child = try Child(
      [Binary.path, "mirror", "--to", "www", "--server", "http://127.0.0.1:1"], environment: Self.base,
      in: scratch.path)
    let message = "http://127.0.0.1:1: nothing answers at 127.0.0.1 port 1; trying again in "
    #expect(Wait.until(60) { child.standardError.contains(message) })
    #expect(!child.hasEnded)
  }

  @Test("--verbose shows the requests of mirrors to an S3 store, and those of a device") func verbose() throws
  {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let pulled = try site.run("pull", "--to", "phone", "--app", "shop", "-v")
      #expect(pulled.exitCode == 0, "\(pulled.errors)")
      #expect(pulled.errors.contains("GET \(site.url)/configure.json?"), "\(pulled.errors)")
      #expect(pulled.errors.contains(": 200, "))
      let store = SocketServer { _ in
        .answer(403, body: Array("<Error><Code>AccessDenied</Code></Error>".utf8))
      }
      let keys = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hidden"]
      let outcome = try Self.run(
        ["mirror", "verify", "s3://bucket/x", "--endpoint", store.url, "-v"], in: site.scratch, keys)
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("GET \(store.url)/bucket/x/mirror.json: 403, "), "\(outcome.errors)")
      #expect(!outcome.errors.contains("hidden"))
    }
  }

  @Test("A redirecting server is reported with its target, without possible secrets") func redirects()
    throws
  {
    let server = SocketServer { _ in
      .answer(301, [("Location", "https://origin.example.com/base/?t=secret")])
    }
    let outcome = try Self.run(["channel", "list", "--server", server.url], in: try Scratch())
    #expect(outcome.exitCode == 1)
    #expect(outcome.errors.contains("it redirects to https://origin.example.com/base/,"), "\(outcome.errors)")
    #expect(!outcome.errors.contains("secret"))
  }

  @Test("A token file that everyone may read causes a warning with its name") func openTokenFile() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let text = Array((site.token + "\n").utf8)
      for (mode, isWarned) in [(0o644, true), (0o640, false), (0o600, false)] as [(UInt32, Bool)] {
        let path = "\(site.scratch.path)/token-\(mode)"
        try DurableFile.write(text, to: path, mode: mode)
        let outcome = try Self.run(
          ["status", "--app", "shop", "--server", site.url, "--token-file", path], in: site.scratch)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(
          outcome.errors
            == (isWarned
              ? "warning: other users of this machine can read the token in \(path): run chmod o= \(path)\n"
              : "")
        )
      }
    }
  }

  @Test("web init uses the server of login, and warns that https pages can't request http")
  func webServer() throws {
    try Site.with { site in
      let scratch = try Scratch()
      try scratch.folder("dist", ["index.html": "<!doctype html>"])
      let login = try Self.run(
        ["login", site.url, "--token-file", "\(site.data)/admin.token"], in: scratch)
      #expect(login.exitCode == 0, "\(login.errors)")
      #expect(
        login.output.hasPrefix("logged in to \(site.url): there is no channel yet that this token may read;"))
      let words = ["web", "init", "--dir", "dist", "--app", "shop"]
      let made = try Self.run(words, in: scratch)
      #expect(made.exitCode == 0 && made.errors.hasPrefix("warning: only this machine reaches \(site.url): "))
      let worker = try DurableFile.read(scratch.path + "/dist/xcache-sw.js") ?? []
      #expect(String(decoding: worker.prefix(200), as: UTF8.self).contains(site.url))
      let plain = try Self.run(words + ["--server", "http://origin.example.com"], in: scratch)
      #expect(plain.exitCode == 0 && plain.errors.contains("give browsers an https URL"))
      // The project's server precedes the one of login.
      try scratch.write("xcache.json", #"{"server":"\#(site.url)"}"#)
      let out = try Self.run(["logout"], in: scratch)
      #expect(out.exitCode == 0 && out.output.contains(site.url), "\(out.errors)")
    }
  }

  @Test("--quiet prints no costs") func quietCosts() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let folder = try site.scratch.folder("next", ["a.js": "2"])
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
      ]
      let first = try Outcome(try site.start(words))
      #expect(first.output.contains("version 2") && first.output.contains("devices"), "\(first.output)")
      try site.scratch.folder("next", ["a.js": "3"])
      let quiet = try Outcome(try site.start(words + ["-q"]))
      #expect(quiet.exitCode == 0 && quiet.errors.isEmpty, "\(quiet.errors)")
      #expect(quiet.output.contains("version 3") && !quiet.output.contains("devices"), "\(quiet.output)")
      let back = try site.run("rollback", "--bundle", "main", "--steps", "1", "--app", "shop", "-q")
      #expect(back.output.contains("version 4") && !back.output.contains("devices"), "\(back.output)")
      let loud = try site.run("rollback", "--bundle", "main", "--steps", "1", "--app", "shop")
      #expect(loud.output.contains("devices on version 4 "), "\(loud.output) \(loud.errors)")
    }
  }

  @Test("Logs are cut after 40 lines unless --limit or --all is given") func longLists()
    throws
  {
    try Site.with { site in
      for number in 0..<45 {
        let act = number % 2 == 0 ? ["freeze", "--reason", "\(number)"] : ["thaw"]
        if number == 0 { try site.publish(["a.js": "1"]) }
        let outcome = try Outcome(try site.start(["channel"] + act + ["--app", "shop"]))
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
      }
      func rows(_ more: String...) throws -> Int {
        let outcome = try Outcome(try site.start(["audit", "log", "--since", "1h ago"] + more))
        return outcome.output.split(separator: "\n").count { $0.contains("channel.") }
      }
      #expect(try rows() == 40)
      #expect(try rows("--all") == 45)
      #expect(try rows("--limit", "44") == 44)
    }
  }
}
