import Manifests
import System
import Testing
import Values

/// Protection against mistakes: published secrets, misspelt names, tokens with too many rights, a forgotten kill switch.
@Suite("Safety") struct SafetyTests {
  private static let key =
    "a\nb\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIHYx3kQ0m9dJrS1bZpLwT8uVfGz7aEoN5cRiXsKy2Dq4oAoGCCqGSM49\n-----END EC PRIVATE KEY-----\n"

  private static func publish(_ site: Site, _ folder: String, _ more: String...) throws -> Outcome {
    try Outcome(
      site.start(
        ["publish", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now"] + more))
  }

  @Test(
    "A damaged xcache.json doesn't prevent a kill, and an app taken from the environment is named"
  )
  func damagedSettings() throws {
    try Site.with { site in
      try site.publish(["index.html": "<!doctype html><meta charset=utf-8>"])
      try site.scratch.write("xcache.json", "{ broken")
      let kill = try site.run(
        "policy", "kill", "--app", "shop", "-m", "crash", "--for", "1h", "--server", site.url)
      #expect(kill.exitCode == 0 && kill.errors.contains("xcache.json"), "\(kill.errors)")
      #expect(try site.poll()["data"]?["policy"]?.string == "1")
      // Publishing needs the file, since it may exclude files.
      let folder = try site.scratch.folder("dist", ["index.html": "<!doctype html><meta charset=utf-8><p>2"])
      let published = try Self.publish(site, folder)
      #expect(published.exitCode == 2 && published.errors.contains("xcache.json"), "\(published.errors)")
      try site.scratch.write("xcache.json", #"{"app": "other"}"#)
      let status = try Outcome(site.start(["status"], launcher: ["env", "XCACHE_APP=shop"]))
      #expect(
        status.exitCode == 0 && status.errors.contains("this is about app shop, as XCACHE_APP says"),
        "\(status.errors)")
      #expect(status.errors.contains("names other"))
    }
  }

  @Test("An unpublish that doesn't affect a candidate says so; setting a value again isn't an error")
  func duringRollout() throws {
    try Site.with { site in
      try site.publish(["index.html": "<!doctype html><meta charset=utf-8>"])
      try site.publish(
        ["chat.html": "<!doctype html><meta charset=utf-8>"], as: "chat", base: Site.base + "/chat",
        "--rollout",
        "10%")
      let unpublish = ["unpublish", "--app", "shop", "--bundle", "chat"]
      let refused = try Outcome(site.start(unpublish))
      #expect(refused.exitCode == 3 && refused.errors.contains("rollout halt"), "\(refused)")
      let halt = ["rollout", "halt", "--app", "shop", "-m", "reason"]
      #expect(try Outcome(site.start(halt)).exitCode == 0)
      #expect(try Outcome(site.start(unpublish)).exitCode == 0)
      let set = ["channel", "set", "--app", "shop", "--public-url", site.url]
      let same = try Outcome(site.start(set))
      #expect(same.exitCode == 0 && same.output.contains("nothing changed"), "\(same)")
    }
  }

  @Test(
    "A rollback by one step is refused if no bundle would be left, unless the version is given; unmatched patterns are reported"
  )
  func emptyRollback() throws {
    try Site.with { site in
      try site.publish(["index.html": "<!doctype html><meta charset=utf-8>"])
      let rollback = ["rollback", "--app", "shop", "--bundle", "main"]
      #expect(try Outcome(site.start(["unpublish", "--app", "shop", "--bundle", "main"])).exitCode == 0)
      try site.publish(["index.html": "<!doctype html><meta charset=utf-8><p>2"])
      let step = try Outcome(site.start(rollback + ["--yes"]))
      #expect(
        step.exitCode == 3 && step.errors.contains("version 2, bundle main has no files"), "\(step.errors)")
      #expect(step.errors.contains("`xcache rollback V --bundle main --app shop`"), "\(step.errors)")
      #expect(try site.poll()["data"]?["version"]?.string == "3")
      #expect(try Outcome(site.start(rollback + ["1"])).exitCode == 0)

      let folder = try site.scratch.folder(
        "dist", ["index.html": "<!doctype html><meta charset=utf-8><p>3", "notes.txt": "x"])
      let published = try Self.publish(site, folder, "--exclude", "notes.tx")
      #expect(
        published.errors.contains("--exclude: the pattern \"notes.tx\" excludes nothing"),
        "\(published.errors)")
    }
  }

  @Test(
    "Names that match nothing are reported: bundles, channels, files, a folder that isn't a copy, a repeated webhook URL"
  )
  func unmatchedNames() throws {
    try Site.with { site in
      try site.publish(["index.html": "<!doctype html><meta charset=utf-8>"])
      func token(_ glob: String) throws -> String {
        try site.run(
          "token", "create", "ci-\(glob.count)", "--scope", "publish", "--app", "shop", "--bundle", glob,
          "--no-expiry"
        ).errors
      }
      #expect(try token("mian").contains("no bundle mian of app shop yet; did you mean main? The token"))
      #expect(try !token("m*").contains("warning"))

      func hook(_ channel: String) throws -> String {
        try site.run(
          "webhook", "add", "https://hooks.example.com/x", "--app", "shop", "--channel", channel
        ).errors
      }
      #expect(try hook("onlin").contains("no channel onlin of app shop yet; did you mean online?"))
      let twice = try hook("online")
      #expect(!twice.contains("no channel") && twice.contains("has the same URL"), "\(twice)")

      let folder = try site.scratch.folder("dist", ["index.html": "<!doctype html><meta charset=utf-8><p>2"])
      let allowed = try Self.publish(site, folder, "--allow-secret", "test/fixtrue.txt")
      #expect(allowed.exitCode == 0)
      #expect(allowed.errors.contains("--allow-secret test/fixtrue.txt names no published file"))

      let copy = try site.scratch.folder("www", ["other.html": "x"])
      let refused = try site.run("mirror", "--data", site.data, "--to", copy)
      #expect(refused.exitCode == 3 && refused.errors.contains("such as other.html"), "\(refused.errors)")
      #expect(try Folder.textNames(copy) == ["other.html"])
      let first = try site.run("mirror", "--data", site.data, "--to", copy, "--allow-others")
      #expect(first.exitCode == 0, "\(first.errors)")
      #expect(try site.run("mirror", "--data", site.data, "--to", "ftp://x/y").exitCode == 2)
      let second = try site.run("mirror", "--data", site.data, "--to", copy)
      #expect(second.exitCode == 0 && !second.errors.contains("other.html"), "\(second.errors)")

      try site.scratch.write("page.html", String(repeating: "<p>long</p>", count: 500))
      let page = try Outcome(
        site.start(["whoami", "--token-file", "page.html"], launcher: ["env", "-u", "XCACHE_TOKEN"]))
      #expect(page.exitCode == 1 && page.errors.contains("page.html contains no token"), "\(page.errors)")

      let backup = try site.run("backup", "--data", site.data, "--to", site.data + "/backup")
      #expect(backup.exitCode != 0 && backup.errors.contains("the data folder itself"), "\(backup.errors)")
      let made = try site.run("channel", "create", "test", "--app", "other")
      #expect(made.output.contains("created app other and channel test"), "\(made.output)")
      let removed = try site.run("unpublish", "--app", "shop", "--bundle", "main")
      #expect(
        removed.errors.contains("`xcache rollback --bundle main --app shop` brings"), "\(removed.errors)")
      let back = try site.run("rollback", "--bundle", "main", "--app", "shop", "--yes")
      #expect(back.exitCode == 0, "\(back.errors)")
    }
  }

  @Test(
    "check and publish refuse secrets with their lines but not their values; a file can be allowed, which is recorded"
  )
  func secrets() throws {
    try Site.with { site in
      // Including the origin's own token: as a file with its usual name, and as text.
      let folder = try site.scratch.folder(
        "dist",
        [
          "index.html": "<!doctype html><meta charset=utf-8>", ".env": "A=1", ".aws/credentials": "x",
          "id_rsa": "x",
          "tls/server.txt": Self.key, "config.js": "window.token = '\(site.token)'",
          ".well-known/x.json": "{}",
        ])
      let words = [
        ".env: error", ".aws/credentials: error", "id_rsa: error",
        "tls/server.txt:3:1: error: this looks like a private key",
        "config.js:1:17: error: this looks like an xcache token", "[secret]",
      ]
      let check = try Outcome(site.start(["check", "dist", "--base-url", Site.base, "--no-check", "all"]))
      #expect(check.exitCode == 3 && words.allSatisfy { check.output.contains($0) }, "\(check.output)")
      #expect(check.output.contains("5 errors"))
      let json = try Outcome(site.start(["check", "dist", "--base-url", Site.base, "--json"]))
      let published = try Self.publish(site, folder, "--create", "--no-check", "all")
      #expect(
        published.exitCode == 3 && words.allSatisfy { published.errors.contains($0) }, "\(published.errors)")
      for text in [check.output, json.output, published.errors + published.output] {
        #expect(!text.contains(site.token) && !text.contains("MHcCAQEE"))
      }
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)
      #expect(try site.run("check", "dist", "--no-check", "secret").exitCode == 2)

      try site.scratch.folder("next", ["a.js": "1", "test/fixture.txt": Self.key])
      let next = "\(site.scratch.path)/next"
      #expect(try Self.publish(site, next, "--create").exitCode == 3)
      let allowed = try Self.publish(site, next, "--create", "--allow-secret", "test/fixture.txt")
      #expect(allowed.exitCode == 0, "\(allowed.errors)")
      let log = try site.run("audit", "log", "--json").output
      #expect(log.contains("test/fixture.txt:3:1: a private key") && !log.contains("MHcCAQEE"))
      // Live files aren't checked again.
      try site.scratch.write("next/a.js", "2")
      #expect(try Self.publish(site, next).exitCode == 0)
    }
  }

  @Test("A misspelt channel or app is refused with a suggestion, also by promote; --create creates it")
  func typos() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let folder = try site.scratch.folder("dist", ["a.js": "1"])
      let channel = try Self.publish(site, folder, "--channel", "onlnie")
      #expect(channel.exitCode == 3 && channel.errors.contains("did you mean online?"), "\(channel.errors)")
      #expect(channel.errors.contains("--create"))
      let app = try Outcome(
        site.start([
          "publish", folder, "--app", "shpo", "--bundle", "main", "--base-url", Site.base, "--dry-run",
        ]))
      #expect(app.exitCode == 3 && app.errors.contains("did you mean shop?"), "\(app.errors)")
      let promote = ["promote", "--app", "shop", "--from", "online", "--to", "tset"]
      let refused = try Outcome(site.start(promote))
      #expect(refused.exitCode == 3 && refused.errors.contains("no channel \"tset\""), "\(refused.errors)")
      #expect(
        try JSONValue.parse(Array(site.run("channel", "list", "--json").output.utf8))["channels"]?.array?
          .count == 1)
      #expect(try Outcome(site.start(promote + ["--create"])).exitCode == 0)
      #expect(try Outcome(site.start(promote)).exitCode == 0)
      #expect(try Self.publish(site, folder, "--channel", "test", "--create").exitCode == 0)
    }
  }

  @Test(
    "A token has only the rights of its options, missing ones are listed together, and whoami shows the rights"
  )
  func tokens() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let missing = try site.run("token", "create", "ci")
      #expect(missing.exitCode == 2)
      for words in ["--scope", "--app NAME or --all-apps", "--expires TIME", "--no-expiry"] {
        #expect(missing.errors.contains(words))
      }
      let made = try site.run(
        "token", "create", "ci", "--scope", "publish", "--app", "shop", "--bundle", "main", "--expires", "90d"
      )
      #expect(
        made.exitCode == 0
          && made.errors.contains("ci may publish bundle main in every channel of app shop, until "))
      let token = made.output.filter { !$0.isWhitespace }
      let who = try site.run("whoami", token: token)
      #expect(who.output.contains("ci at http://127.0.0.1:"), "\(who.output)")
      #expect(who.output.contains("may publish bundle main in every channel of app shop, until "))
      #expect(who.output.contains("from XCACHE_TOKEN") && !who.output.contains(token))
      let json = try JSONValue.parse(Array(site.run("whoami", "--json").output.utf8))
      #expect(
        json["scope"]?.string == "admin" && json["app"]?.isNull == true && json["server"]?.string == site.url)
      #expect(
        try site.run("whoami").output.contains(
          "may do everything, also create tokens and apps in every app, for ever"))
      let refused = try site.run("whoami", token: "xcache_0123456789ab_" + String(repeating: "A", count: 43))
      #expect(refused.exitCode == 1 && refused.errors.contains("expired or revoked"))
    }
  }

  @Test("On a terminal, the rights of a token are asked for") func prompted() throws {
    try Site.with { site in
      let program = """
        import os, pty, sys
        pid, tty = pty.fork()
        if pid == 0:
            os.execv(sys.argv[1], ["xcache", "token", "create", "ci"])
        said = b""
        for question, answer in ((b"what it may do", b"publish"), (b"its app", b"shop"), (b"when it ends", b"soon"), (b"when it ends", b"never")):
            start = len(said)
            while question not in said[start:]:
                said += os.read(tty, 4096)
            os.write(tty, answer + b"\\n")
        try:
            while True:
                data = os.read(tty, 4096)
                if not data: break
                said += data
        except OSError:
            pass
        sys.stdout.write(said.decode())
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
      let prompted = try Outcome(
        site.start([], launcher: ["python3", "-c", program, Binary.path]))
      #expect(prompted.exitCode == 0, "\(prompted.output) \(prompted.errors)")
      #expect(
        prompted.output.contains("xcache_")
          && prompted.output.contains("in every channel of app shop, for ever"))
    }
  }

  @Test("A misspelt bundle is refused with a suggestion, and an unpublished bundle doesn't count")
  func bundles() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      let folder = try site.scratch.folder("more", ["b.js": "1"])
      func publish(_ more: String...) throws -> Outcome {
        try Outcome(
          site.start(
            ["publish", folder, "--app", "shop", "--bundle", "mian", "--base-url", Site.base, "--now"] + more)
        )
      }
      let refused = try publish()
      #expect(refused.exitCode == 3 && refused.errors.contains("has no bundle \"mian\"; did you mean main?"))
      #expect(
        refused.errors.contains("--create") && !refused.errors.contains("version 3"), "\(refused.errors)")
      #expect(try site.poll()["data"]?["version"]?.string == "2")
      #expect(try publish("--create").exitCode == 0)
      #expect(try publish().exitCode == 0, "the bundle exists now")
      // With two live bundles, one must be named.
      #expect(try site.run("rollback", "--dry-run", "--app", "shop").exitCode == 2)
      #expect(try site.run("unpublish", "--bundle", "mian", "--app", "shop").exitCode == 0)
      let back = try site.run("rollback", "--yes", "--app", "shop", "--json")
      #expect(back.exitCode == 0 && back.output.contains("\"target\":\"1\""), "\(back.output)\(back.errors)")
      #expect(try site.entry("b.js") == nil, "the misspelt bundle was restored")
    }
  }

  @Test(
    "A release that removes every page is refused unless allowed, also as a dry run and if nothing changed"
  )
  func pages() throws {
    try Site.with { site in
      func publish(_ files: Files, _ base: String, _ more: String...) throws -> Outcome {
        let folder = try site.scratch.folder("dist", files)
        let words = [
          "publish", folder, "--create", "--app", "shop", "--bundle", "main", "--base-url", base, "--now",
        ]
        return try Outcome(site.start(words + more))
      }
      let page = "<!doctype html><meta charset=utf-8>"
      #expect(try publish(["a/index.html": page, "b.js": "1"], Site.base).exitCode == 0)
      #expect(try publish(["a/index.html": page, "c.html": page], Site.base).exitCode == 0)
      for more in [[], ["--dry-run"], ["--dry-run", "--no-upload"], ["--json"]] {
        let folder = try site.scratch.folder("dist", ["index.html": page, "c.html": page])
        let words = [
          "publish", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base + "/more",
        ]
        let wrong = try Outcome(site.start(words + more))
        #expect(wrong.exitCode == 3, "\(wrong.output)")
        #expect(
          wrong.errors.contains(
            "would remove every page of the live version (2 pages, such as \(Site.base)/a/index.html)"),
          "\(wrong.errors)")
        #expect(wrong.errors.contains("--allow-no-pages") && wrong.errors.contains("nothing was released"))
        #expect(more != ["--json"] || wrong.output.contains(#""code":"no-pages""#), "\(wrong.output)")
      }
      #expect(try publish(["x.js": "1"], Site.base).exitCode == 3)
      #expect(try site.poll()["data"]?["version"]?.string == "2")
      // A page that another bundle of the release takes over isn't removed.
      let moved = try site.scratch.folder("moved", ["a/index.html": page, "c.html": page])
      let rest = try site.scratch.folder("rest", ["x.js": "1"])
      let both = try site.run(
        "publish", "--create", "--app", "shop", "--bundle", "main=\(rest)", "--bundle", "pages=\(moved)",
        "--base-url",
        Site.base, "--now")
      #expect(both.exitCode == 0, "\(both.errors)")
      #expect(try publish(["a/index.html": page], Site.base + "/new").exitCode == 0, "the bundle had no page")
      let last = try publish(["y.js": "1"], Site.base + "/new", "--allow-no-pages")
      #expect(last.exitCode == 0 && !last.errors.contains("every page"), "\(last.errors)")
      // An empty folder isn't released either.
      let empty = try publish([:], Site.base)
      #expect(empty.exitCode == 1 && empty.errors.contains("xcache unpublish --bundle"), "\(empty.errors)")
    }
  }

  @Test("A list of allowed hosts without a live host causes a warning with a suggestion") func hosts() throws
  {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      func set(_ hosts: String) throws -> String {
        let outcome = try site.run("channel", "set", "--hosts", hosts, "--app", "shop")
        #expect(outcome.exitCode == 0)
        return outcome.errors
      }
      let wrong = try set("m.exmaple.com")
      #expect(
        wrong.contains("URLs of m.example.com, which the list lacks")
          && wrong.contains("was m.example.com meant by m.exmaple.com?"), "\(wrong)")
      #expect(try set("*.example.com").isEmpty)
      #expect(try set("*").isEmpty)
    }
  }

  @Test("A message or reason that contains a secret is refused, by the command and by the origin")
  func messages() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let token = "ghp_" + SHA256.of(Array("a token".utf8)).hex.prefix(36)
      for words in [
        ["publish", "site-shop-main", "--bundle", "main", "--base-url", Site.base, "-m", "with \(token)"],
        ["channel", "freeze", "--reason", "leaked: \(token)"], ["policy", "kill", "-m", token],
        ["purge", "\(Site.base)/a.js", "--reason", token, "--yes"],
        ["rollback", "--yes", "--break-glass", token],
      ] {
        // A purge isn't limited to an app.
        let outcome = try Outcome(site.start(words + (words[0] == "purge" ? [] : ["--app", "shop"])))
        #expect(outcome.exitCode == 2 && outcome.errors.contains("a GitHub token"), "\(outcome.errors)")
        #expect(!outcome.errors.contains(token) && !outcome.output.contains(token))
      }
      let channel = "apps/shop/channels/online"
      for (path, body) in [
        ("\(channel)/freeze", ["reason": .string(token)]),
        ("\(channel)/rollback", ["steps": 1, "allBundles": true, "message": .string(token)]),
        ("\(channel)/freeze?reason=\(token)", ["reason": "sale"]),
      ] as [(String, JSONValue)] {
        let answer = try site.api("POST", path, body)
        #expect(answer.status == 422 && answer.json["code"]?.string == "secret", "\(answer.json)")
      }
      #expect(try !site.run("audit", "export").output.contains(token))
      #expect(
        try site.run("channel", "freeze", "--reason", "the ghp_ token leaked", "--app", "shop").exitCode == 0)
    }
  }

  @Test("A publish that drops --index warns before it starts") func index() throws {
    try Site.with { site in
      let page = "<!doctype html><meta charset=utf-8>"
      let folder = try site.scratch.folder("dist", ["index.html": page, "a/index.html": page, "b.js": "1"])
      func publish(_ more: String...) throws -> Outcome {
        let words = [
          "publish", folder, "--create", "--app", "shop", "--bundle", "main", "--base-url", Site.base,
          "--now",
        ]
        return try Outcome(site.start(words + more))
      }
      #expect(try !publish("--index").errors.contains("--index"))
      let dry = try publish("--dry-run")
      let says =
        "removes 2 folder URLs of the live version, such as \(Site.base)/, and their index.html stays; was --index dropped?"
      #expect(dry.exitCode == 0 && dry.errors.contains(says), "\(dry.errors)")
      #expect(try publish().errors.contains(says))
      #expect(try !publish().errors.contains("--index"))
      #expect(try !publish("--index").errors.contains("dropped"))
      // Without the folder, its address is removed as well.
      let smaller = try site.scratch.folder("smaller", ["index.html": page, "b.js": "1"])
      let gone = try site.run(
        "publish", smaller, "--index", "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now")
      #expect(gone.exitCode == 0 && !gone.errors.contains("dropped"), "\(gone.errors)")
    }
  }

  @Test("The remedies that publish prints for secrets work, and documents with secrets are refused")
  func hintsAndDocuments() throws {
    try Site.with { site in
      let folder = try site.scratch.folder("dist", ["a.js": "1", "key.txt": Self.key])
      let secret = try Self.publish(site, folder, "--create")
      #expect(secret.errors.contains("or publish with --allow-secret PATH:"), "\(secret.errors)")
      #expect(!secret.errors.contains("--no-check"), "\(secret.errors)")
      try site.publish(["a.js": "1"])
      let token = "ghp_" + SHA256.of(Array("a token".utf8)).hex.prefix(36)
      let config = try site.scratch.write(
        "prefetch.json",
        #"[{"url":"https://m.example.com/p","interfaces":[{"api":"https://m.example.com/?t=\#(token)","method":"GET"}]}]"#
      )
      let pushed = try site.run("prefetch", "push", "prefetch.json", "--app", "shop")
      #expect(
        pushed.exitCode == 3 && pushed.errors.contains("a GitHub token") && !pushed.errors.contains(token),
        "\(config) \(pushed.output)\(pushed.errors)")
      let bypass = try site.run(
        "policy", "bypass", "add", "https://m.example.com/?t=\(token)", "--app", "shop")
      #expect(bypass.exitCode != 0 && bypass.errors.contains("a GitHub token"), "\(bypass.errors)")
      #expect(!bypass.errors.contains(token))
    }
  }

  @Test(
    "pull refuses an origin's data folder, and the hint about a freeze names the channel"
  )
  func places() throws {
    try Site.with { site in
      try site.publish(["index.html": "<!doctype html><meta charset=utf-8>"])
      let before = try Set(Folder.textNames(site.data))
      let pull = try site.run("pull", "--to", site.data, "--app", "shop")
      #expect(pull.exitCode != 0 && pull.errors.contains("an origin's data folder"), "\(pull.errors)")
      #expect(try Set(Folder.textNames(site.data)) == before)

      let freeze = ["channel", "freeze", "--reason", "a sale", "--app", "shop"]
      #expect(try Outcome(site.start(freeze)).exitCode == 0)
      let folder = try site.scratch.folder("dist", ["index.html": "<!doctype html><meta charset=utf-8><p>2"])
      let words = [
        "publish", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--channel",
        "online",
      ]
      let frozen = try Outcome(site.start(words, launcher: ["env", "XCACHE_CHANNEL=test"]))
      #expect(frozen.exitCode == 3, "\(frozen)")
      #expect(frozen.errors.contains("`xcache channel thaw --app shop --channel online"), "\(frozen.errors)")
    }
  }

  @Test("The dry run of a rollback during a rollout equals the rollback")
  func dryRunDuringRollout() throws {
    try Site.with { site in
      func page(_ text: String) -> String { "<!doctype html><meta charset=utf-8><p>\(text)" }
      try site.publish(["index.html": page("one"), "old.js": "1", "a.js": "a"])
      try site.publish(["index.html": page("two"), "new.js": "2", "a.js": "a", "b.js": "b"])
      try site.publish(
        ["index.html": page("three"), "old.js": "1", "a.js": "a", "c.js": "c"], as: "main", "--rollout", "10%"
      )
      func rollback(_ more: String...) throws -> JSONValue {
        let outcome = try Outcome(site.start(["rollback", "1", "--app", "shop", "--yes", "--json"] + more))
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        return try JSONValue.parse(Array(outcome.output.utf8))
      }
      let preview = try rollback("--dry-run")
      let changes = Set(
        preview["changes"]?.object?.members.map { "\($0.key) \($0.value.string ?? "")" } ?? [])
      #expect(
        changes == [
          "\(Site.base)/index.html changed", "\(Site.base)/old.js added", "\(Site.base)/new.js removed",
          "\(Site.base)/b.js removed",
        ], "\(preview)")
      let made = try rollback()
      for member in ["added", "changed", "removed", "bundles", "version"] {
        #expect(preview[member] == made[member], "\(member): \(preview) \(made)")
      }
      #expect(preview["takesBack"]?.array?.first?["counts"] == made["takesBack"]?.array?.first?["counts"])
    }
  }

  @Test("The kill switch ends after four hours by default, and says what happens to files")
  func kill() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let before = Clock.unixMilliseconds() / 1000
      let killed = try site.run("policy", "kill", "--app", "shop")
      #expect(killed.output.hasPrefix("interception is off until "), "\(killed.output)")
      #expect(killed.errors.contains("keep their files, and come back by themselves"))
      func until() throws -> String? {
        try JSONValue.parse(Array(site.web.ask("/policy.json?app=shop").body))["data"]?["until"]?.string
      }
      let end = try #require(try until().flatMap { Instant($0) }).seconds
      #expect((before + 4 * 3600...before + 4 * 3600 + 60).contains(end))
      #expect(try site.run("policy", "kill", "--app", "shop", "--until-resumed").exitCode == 0)
      #expect(try until() == nil)
      #expect(try site.run("policy", "kill", "--app", "shop", "--until-resumed", "--for", "1h").exitCode == 2)
      // The default doesn't shorten a kill, and --for says that it does.
      let again = try site.run("policy", "kill", "--app", "shop")
      #expect(
        try until() == nil && again.errors.contains("off until it is resumed, which stays"), "\(again.errors)"
      )
      let shorter = try site.run("policy", "kill", "--app", "shop", "--for", "1h")
      #expect(try until() != nil && shorter.errors.contains("it comes back earlier"), "\(shorter.errors)")
      #expect(try site.run("policy", "kill", "--app", "shop", "--for", "10s").exitCode == 2)
      #expect(
        try site.run("policy", "bypass", "add", "https://pay.example.com/*", "--app", "shop", "--for", "1h")
          .exitCode == 0)
      #expect(
        try site.run("policy", "bypass", "add", "https://a.example.com/*", "--app", "shop").exitCode == 0)
      let list = try site.run("policy", "bypass", "list", "--app", "shop").output
      #expect(
        list.contains("https://pay.example.com/*  20") && list.contains("https://a.example.com/*    no end"),
        "\(list)")
      let log = try site.run("audit", "log").output
      #expect(log.contains("bypass +https://pay.example.com/* until "), "\(log)")
      #expect(log.contains("intercept on → off"))
    }
  }
}
