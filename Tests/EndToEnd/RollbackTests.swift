import System
import Testing
import TestSupport
import Values

/// Rollbacks, promotions, freezes, and older states.
@Suite("Rollback, promotion, freeze") struct RollbackTests {
  private static func version(_ site: Site, _ channel: String = "online") throws -> String? {
    try site.poll("channel=\(channel)")["data"]?["version"]?.string
  }

  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words + ["--app", "shop"]))
  }

  private static func config(_ site: Site, _ api: String, host: String = "m.example.com") throws -> String {
    try site.scratch.write(
      "prefetch.json",
      #"[{"url":"https://\#(host)/p","interfaces":[{"api":"https://\#(host)/\#(api)","method":"GET"}]}]"#)
  }

  private static func shownConfig(_ site: Site) throws -> String {
    let document = try JSONValue.parse(site.web.ask("/xcache/shop/prefetchConfig.json").body)
    #expect(try site.poll()["data"]?["prefetch"] == document["data"]?["version"])
    return String(decoding: (document["data"]?["config"] ?? .null).canonical, as: UTF8.self)
  }

  @Test("A rollback restores files and prefetch config, and devices download nothing")
  func rollback() throws {
    try Site.with { site in
      try site.publish(["a.js": "good", "b.js": "same"])
      #expect(try Self.run(site, "prefetch", "push", Self.config(site, "old")).exitCode == 0)
      try site.pull("device")
      let map = try site.poll()["data"]?["resourcemap"]
      let config = try Self.shownConfig(site)
      try site.publish(["a.js": "bad", "b.js": "same"])
      #expect(try Self.run(site, "prefetch", "push", Self.config(site, "new")).exitCode == 0)
      try site.pull("device")

      let dry = try Self.run(
        site, "rollback", "--bundle", "main", "--steps", "1", "--with-prefetch", "--dry-run")
      #expect(
        dry.exitCode == 0 && dry.output.contains("would become version 3 with the content of version 1"))
      #expect(dry.output.contains("prefetch config: the content of version 1, would become version 3"))
      #expect(try Self.version(site) == "2")

      let back = try Self.run(
        site, "rollback", "--bundle", "main", "--steps", "1", "--with-prefetch", "-m", "white screen")
      #expect(back.exitCode == 0, "\(back.errors)")
      #expect(back.output.contains("+0 ~1 −0, version 3 with the content of version 1"))
      #expect(back.output.contains("undoes in main: version 2 by admin"))
      #expect(back.output.contains("prefetch config: the content of version 1, now version 3"))
      #expect(back.output.contains("live with its deltas\nreceipt "))
      #expect(try site.poll()["data"]?["resourcemap"] == map)
      #expect(try Self.shownConfig(site) == config)
      let pulled = try site.pull("device")
      // The pack lists what comes back; the device still has the bytes.
      let update = pulled["update"]
      #expect(update?["fetched"]?.integer == 0 && (update?["bytesFetched"]?.integer ?? .max) < 1_000)
      #expect(pulled["prefetch"]?.string == "3")

      let again = try Self.run(site, "rollback", "--bundle", "main", "--to", "1", "--with-prefetch")
      #expect(again.exitCode == 0)
      #expect(
        again.output == """
          nothing changed: version 3 has the content of version 1
          prefetch config: nothing changed, version 3 already has this content

          """)
      let log = try Self.run(site, "log").output
      #expect(log.contains("rollback to 1") && log.contains("white screen"))
      let json = try Self.run(site, "rollback", "--all-bundles", "--to", "2", "--now", "--json")
      let answer = try JSONValue.parse(Array(json.output.utf8))
      #expect(answer["version"]?.string == "4")
      // The rollback didn't wait for it, and it was printed afterwards.
      #expect(answer["cost"]?["update"]?["total"]?.integer != nil)
      #expect(answer["prefetch"]?.isNull == true)
      // Invariant 1: what was acknowledged is durable.
      try site.crash()
      #expect(try Self.version(site) == "4")
    }
  }

  /// Refused command lines, with exit code and a part of the message.
  @Test(
    "Refusals, and the remedies they print",
    arguments: [
      (["rollback", "--bundle", "main", "--all-bundles"], Int32(2), "not both"),
      (["rollback", "1", "--to", "1", "--yes"], 2, "the version once"),
      (["rollback", "1", "2"], 2, "unexpected argument: 2"), (["rollback", "9", "--yes"], 1, "no version 9"),
      (["rollback", "--bundle", "main", "--to", "1", "--steps", "1"], 2, "--steps"),
      (["rollback", "--bundle", "main", "--to", "yesterday"], 2, "2026-11-19T14:05+08:00"),
      (["rollback", "--bundle", "main", "--to", "9"], 1, "no version 9"),
      (["rollback", "--bundle", "main", "--at", "1999-12-31T00:00Z"], 1, "no release at that time"),
      (["rollback", "--bundle", "main", "--steps", "9"], 3, "only 1 earlier state is"),
      (["rollback", "--bundle", "mian", "--steps", "1"], 1, "no bundle named \"mian\""),
      (["rollback", "--all-bundles", "--steps", "1", "--if-version", "1"], 3, "version 2 by admin"),
      (["promote", "--from", "test"], 2, "--to CHANNEL"),
      (["promote", "--from", "test", "--to", "online"], 1, "no channel named \"test\""),
      (["promote", "--from", "online", "--to", "online"], 2, "are the same channel"),
      (["promote", "--from", "online", "--to", "test", "--map", "x"], 2, "OLD-URL=NEW-URL"),
      (["channel", "freeze", "--channel", "online"], 2, "--reason"),
      (["channel", "remove"], 2, "--channel NAME"),
      (["channel", "create", "--channel", "online"], 3, "already"),
      (["channel", "remove", "--channel", "online"], 3, "unpublish"),
      (["channel", "thwa"], 2, "thaw"), (["show", "--at", "2999-01-01T00:00Z"], 1, "is in the future"),
      (["show", "9"], 1, "no version 9"), (["diff"], 2, "the older version"),
      (["diff", "1", "2", "3"], 2, "3"), (["diff", "1", "9"], 1, "no version 9"),
      (["log", "--at", "noon"], 2, "noon"),
      (["pin", "1"], 2, "\"why\""), (["pin", "9", "why"], 1, "no version 9"),
      (["pin", "remove", "1"], 1, "not pinned"),
      (["pull", "--to", "x", "--version", "9"], 1, "no version 9"),
    ])
  func refusals(words: [String], exitCode: Int32, says: String) throws {
    try Self.twoVersions { site in
      let outcome = try Outcome(try site.start(words + ["--app", "shop"]))
      #expect(outcome.exitCode == exitCode && outcome.output.isEmpty, "\(outcome.output)")
      #expect(outcome.errors.contains(says), "\(outcome.errors)")
      #expect(try Self.version(site) == "2", "nothing was changed")
    }
  }

  @Test(
    "A rollback without a target shows the step to the previous version, and needs a confirmation",
    arguments: [[], ["1"], ["--bundle", "main"], ["--all-bundles"], ["--steps", "1"]])
  func unconfirmed(words: [String]) throws {
    try Self.twoVersions { site in
      let words = ["rollback"] + words + ["--app", "shop"]
      let outcome = try Outcome(try site.start(words))
      #expect(
        outcome.exitCode == 2 && outcome.errors.contains("there is no terminal to ask on"),
        "\(outcome.errors)")
      #expect(
        outcome.output.contains("would become version 3 with the content of version 1"), "\(outcome.output)")
      #expect(try Self.version(site) == "2")
      let document = try Outcome(try site.start(words + ["--json"]))
      #expect(document.exitCode == 2 && document.errors.contains("--yes"), "\(document.output)")
      for (answer, version, exitCode) in [("n", "2", Int32(3)), ("y", "3", 0)] {
        let prompted = try Self.onTerminal(site, words, answer: answer)
        #expect(
          prompted.output.contains("roll back online of shop to the content of version 1? [y/N]"),
          "\(prompted.output)")
        #expect(prompted.exitCode == exitCode, "\(prompted.output)")
        #expect(try Self.version(site) == version)
      }
    }
  }

  /// Runs a command on a terminal, and types an answer.
  private static func onTerminal(_ site: Site, _ words: [String], answer: String) throws -> Outcome {
    let line = ([Binary.path] + words).joined(separator: " ")
    return try Outcome(
      try site.start(
        [], launcher: ["sh", "-c", "printf '\(answer)\\n' | script -qec '\(line)' /dev/null; exit $?"]))
  }

  @Test("One command rolls a channel back", arguments: [["--yes"], ["1", "--yes"], ["-y", "--steps", "1"]])
  func oneLine(words: [String]) throws {
    try Self.twoVersions { site in
      let outcome = try Outcome(try site.start(["rollback"] + words + ["--app", "shop"]))
      #expect(
        outcome.exitCode == 0 && outcome.output.contains("version 3 with the content of version 1"),
        "\(outcome.errors)")
    }
  }

  @Test("If there are several bundles, the message lists commands that can be run") func severalBundles()
    throws
  {
    try Self.twoVersions { site in
      try site.publish(["b.js": "1"], as: "more", base: "https://m.example.com/more")
      let outcome = try Self.run(site, "rollback", "--yes")
      #expect(
        outcome.exitCode == 2 && outcome.errors.contains("`xcache rollback --bundle more --app shop`"),
        "\(outcome.errors)")
      #expect(outcome.errors.contains("`xcache rollback --all-bundles --app shop`"), "\(outcome.errors)")
    }
  }

  @Test("The hint about a freeze thaws the frozen channel and no other") func freezeHint() throws {
    try Site.with { site in
      for channel in ["online", "test"] {
        for text in ["1", "2"] { try site.publish(["a.js": text], "--channel", channel) }
        let words = ["channel", "freeze", channel, "--app", "shop", "--reason", "sale"]
        #expect(try Outcome(try site.start(words)).exitCode == 0)
      }
      let refused = [
        [
          "publish", try site.scratch.folder("next", ["a.js": "3"]), "--bundle", "main", "--base-url",
          Site.base,
        ],
        ["unpublish", "--bundle", "main"], ["rollback", "--all-bundles", "--to", "1"],
      ]
      for words in refused {
        let outcome = try Outcome(try site.start(words + ["--app", "shop", "--channel", "test"]))
        #expect(
          Hint.all(in: outcome.errors).map(\.line) == ["channel thaw --app shop --channel test"],
          "\(outcome.errors)")
      }
      try site.publish(["a.js": "4"], "--channel", "other")
      for more in [[], ["--dry-run"]] {
        let words = ["promote", "--from", "other", "--to", "test", "--app", "shop"]
        let outcome = try Outcome(try site.start(words + more))
        let hints = Hint.all(in: outcome.errors + outcome.output).map(\.line)
        #expect(
          hints.count == 1 && hints[0].contains("--app shop") && hints[0].contains("--channel test"),
          "\(hints)")
        #expect(!hints[0].contains("other"))
      }
      #expect(
        try Outcome(try site.start(["channel", "thaw", "--app", "shop", "--channel", "test"])).exitCode == 0)
      let list = try site.run("channel", "list", "--app", "shop").output
      #expect(
        list.contains("frozen by admin")
          && list.split(separator: "\n").count { $0.contains("frozen by") } == 1)
    }
  }

  @Test("status begins with failures and their reason; without an app, it shows every channel")
  func statusFirst()
    throws
  {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "1"], "--channel", "test")
      let kill = ["policy", "kill", "--app", "shop", "--channel", "test", "-m", "white screen"]
      #expect(try Outcome(try site.start(kill)).exitCode == 0)
      let online = try Self.run(site, "status").output.split(separator: "\n")
      #expect(
        online.first?.hasPrefix("KILLED shop test: ") == true && online[0].contains("white screen"),
        "\(online)")
      let all = try site.run("status").output.split(separator: "\n")
      #expect(all.first?.hasPrefix("KILLED shop test: ") == true, "\(all)")
      let rows = all.drop { !$0.hasPrefix("APP") }
      #expect(rows.count == 3 && rows.dropFirst().first?.contains("killed") == true, "\(all)")
    }
  }

  /// Two versions of one bundle, at a server that ends with the test.
  private static func twoVersions(_ body: (Site) throws -> Void) throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      try body(site)
    }
  }

  @Test("A promotion copies bundles and prefetch config with rewritten URLs; a second one changes nothing")
  func promotion() throws {
    try Site.with { site in
      let page = "<script src=\"https://test.example.com/a.js\"></script>"
      try site.publish(
        ["a.js": "a", "index.html": page], base: "https://test.example.com", "--channel", "test")
      let config = try Self.config(site, "api", host: "test.example.com")
      #expect(try Self.run(site, "prefetch", "push", config, "--channel", "test").exitCode == 0)
      let words = [
        "promote", "--create", "--from", "test", "--to", "online", "--with-prefetch", "--app", "shop",
        "--map",
        "https://test.example.com=https://m.example.com",
      ]
      let dry = try Outcome(try site.start(words + ["--dry-run"]))
      #expect(dry.exitCode == 0 && dry.output.contains("would become online version 1"), "\(dry.errors)")
      #expect(try site.web.ask("/xcache/shop/configure.json").status == 404)
      let done = try Outcome(try site.start(words))
      #expect(done.exitCode == 0, "\(done.errors)")
      #expect(done.output.contains("https://test.example.com/index.html contains a host that is rewritten"))
      #expect(done.output.contains("online version 1 with the content of test 1"))
      #expect(done.output.contains("prefetch config: the content of version 1 of test, now version 1"))
      #expect(try site.entry("a.js", base: "https://m.example.com") != nil)
      let shown = try Self.shownConfig(site)
      #expect(shown.contains("https://m.example.com/api") && !shown.contains("test.example.com"))
      let again = try Outcome(try site.start(words))
      #expect(again.exitCode == 0 && again.output.contains("nothing changed: online 1"))
      #expect(try Self.version(site) == "1")
    }
  }

  @Test(
    "Meaningless combinations of options are usage errors",
    arguments: [
      ["promote", "--from", "test", "--to", "test"],
      ["promote", "--from", "test", "--to", "online", "--break-glass", ""],
      ["rollback", "--bundle", "main", "--steps", "1", "--break-glass", ""],
      ["unpublish", "--bundle", "main", "--break-glass", ""],
      ["publish", "--create", "site", "--bundle", "main", "--base-url", Site.base, "--break-glass", ""],
    ])
  func usageErrors(_ words: [String]) throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"], "--channel", "test")
      try site.scratch.folder("site", ["a.js": "3"])
      let outcome = try Outcome(try site.start(words + ["--app", "shop"]))
      #expect(outcome.exitCode == 2 && outcome.errors.contains("--"), "\(outcome.errors)")
      #expect(try Self.version(site) == "1")
    }
  }

  @Test("The channels of an unknown app can't be listed")
  func channelsOfUnknownApp() throws {
    try Site.with { site in
      let early = try Self.run(site, "channel", "list")
      #expect(early.exitCode == 1 && early.errors.contains("no app shop"), "\(early.errors)")
      try site.publish(["a.js": "1"])
      #expect(try Self.run(site, "channel", "list").output.contains("shop  online"))
      for words in [["--app", "shpo"], ["--app", "shpo", "--json"]] {
        let none = try Outcome(try site.start(["channel", "list"] + words))
        #expect(none.exitCode == 1 && none.output.isEmpty != words.contains("--json"))
        #expect(none.errors.contains("no app shpo") && none.errors.contains("did you mean shop?"))
      }
    }
  }

  @Test("A frozen channel shows who froze it and why, and accepts a release only with --break-glass")
  func freeze() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      let freeze = try Self.run(site, "channel", "freeze", "--channel", "online", "--reason", "the big sale")
      #expect(freeze.exitCode == 0, "\(freeze.errors)")
      #expect(try Self.run(site, "channel", "list").output.contains("frozen by admin: the big sale"))
      #expect(try Self.run(site, "status").output.contains("FROZEN     by admin since 20"))
      let folder = try site.scratch.folder("next", ["a.js": "3"])
      let publish = [
        "publish", "--create", folder, "--bundle", "main", "--base-url", Site.base, "--app", "shop",
      ]
      for words in [
        publish, ["unpublish", "--bundle", "main", "--app", "shop"],
        ["rollback", "--bundle", "main", "--steps", "1", "--app", "shop"],
      ] {
        let refused = try Outcome(try site.start(words))
        #expect(refused.exitCode == 3, "\(words)")
        #expect(
          refused.errors.contains("by admin since 20") && refused.errors.contains("the big sale")
            && refused.errors.contains("--break-glass"))
      }
      #expect(try Self.version(site) == "2")
      #expect(try Outcome(try site.start(publish + ["--break-glass", ""])).exitCode != 0)
      let overridden = try Outcome(try site.start(publish + ["--break-glass", "prices are wrong"]))
      #expect(overridden.exitCode == 0, "\(overridden.errors)")
      let shown = try Self.run(site, "show").output
      #expect(shown.contains("despite the freeze by admin: prices are wrong"))
      #expect(try Self.run(site, "channel", "thaw", "--channel", "online").exitCode == 0)
      #expect(try Self.run(site, "channel", "thaw", "--channel", "online").output.contains("was not frozen"))
      #expect(try Self.run(site, "rollback", "--bundle", "main", "--steps", "1").exitCode == 0)
    }
  }

  @Test(
    "A dry run in a frozen channel prints what would happen and that the channel is frozen, and changes nothing"
  )
  func dryRuns() throws {
    try Site.with { site in
      try site.publish(["a.js": "1", "b.js": "1"])
      try site.publish(["a.js": "2", "b.js": "1"])
      #expect(try Self.run(site, "promote", "--from", "online", "--to", "test", "--create").exitCode == 0)
      try site.publish(["a.js": "3", "c.js": "3"])
      for channel in ["online", "test"] {
        #expect(
          try Self.run(site, "channel", "freeze", "--channel", channel, "--reason", "sale").exitCode == 0)
      }
      let folder = try site.scratch.folder("next", ["a.js": "4"])
      let acts = [
        ["publish", "--create", folder, "--bundle", "main", "--base-url", Site.base],
        ["unpublish", "--bundle", "main"],
        ["rollback", "--bundle", "main", "--steps", "1"], ["promote", "--from", "online", "--to", "test"],
      ]
      for words in acts {
        let real = try Outcome(try site.start(words + ["--app", "shop"]))
        #expect(real.exitCode == 3 && real.errors.contains("is frozen"), "\(words)")
        let dry = try Outcome(try site.start(words + ["--app", "shop", "--dry-run"]))
        #expect(dry.exitCode == 0, "\(words) \(dry.errors)")
        #expect(
          dry.output.contains("the channel is frozen, by admin since 20") && dry.output.contains(": sale; ")
            && dry.output.contains("--break-glass REASON") && dry.output.contains("dry run: "),
          "\(words) \(dry.output)")
        let json = try Outcome(try site.start(words + ["--app", "shop", "--dry-run", "--json"]))
        let answer = try JSONValue.parse(Array(json.output.utf8))
        #expect(
          answer["freeze"]?["reason"]?.string == "sale" && answer["changed"]?.bool == true, "\(json.output)")
        let allowed = try Outcome(
          try site.start(words + ["--app", "shop", "--dry-run", "--break-glass", "fire"]))
        #expect(allowed.exitCode == 0 && !allowed.output.contains("frozen"), "\(allowed.output)")
      }
      #expect(try Self.version(site) == "3")
    }
  }

  @Test(
    "A dry run of an act that uploads nothing lists the changed files, and prints what devices would download"
  )
  func forecasts() throws {
    try Site.with { site in
      try site.publish(["a.js": "1", "b.js": "22"])
      #expect(try Self.run(site, "promote", "--from", "online", "--to", "test", "--create").exitCode == 0)
      try site.publish(["a.js": "333", "c.js": "3"])
      let promote = ["promote", "--from", "online", "--to", "test"]
      func dry(_ words: String...) throws -> String {
        let outcome = try Outcome(try site.start(words + ["--app", "shop", "--dry-run"]))
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        return outcome.output
      }
      let promoted = try dry("promote", "--from", "online", "--to", "test")
      for line in [
        "~ \(Site.base)/a.js  3 B (was 1 B)\n", "− \(Site.base)/b.js  2 B\n", "+ \(Site.base)/c.js  1 B\n",
        "devices on version 1 download ", "dry run: +1 ~1 −1, would become test version 2",
      ] { #expect(promoted.contains(line), "\(line) in \(promoted)") }
      #expect(try dry("promote", "--from", "online", "--to", "test", "--stat").contains("TYPE"))
      #expect(
        try !dry("promote", "--from", "online", "--to", "fresh", "--create").contains("devices on"),
        "there are none")
      let removed = try dry("unpublish", "--bundle", "main")
      #expect(
        removed.contains("− \(Site.base)/a.js  3 B\n− \(Site.base)/c.js  1 B\n")
          && removed.contains("devices on version 2 download ")
          && removed.contains("dry run: −2, would become version 3"),
        "\(removed)")
      let json = try Outcome(try site.start(promote + ["--app", "shop", "--dry-run", "--json"])).output
      let forecast = try JSONValue.parse(Array(json.utf8))["forecast"]
      #expect(
        forecast?["files"]?.array?.compactMap { $0["change"]?.string } == ["changed", "removed", "added"]
          && (forecast?["update"]?["total"]?.integer ?? 0) > 0, "\(json)")
      let real = try Outcome(try site.start(promote + ["--app", "shop", "--json"])).output
      #expect(try JSONValue.parse(Array(real.utf8))["forecast"] == nil)
    }
  }

  @Test("Past states by time: show, diff, log, pin, pull")
  func moments() throws {
    try Site.with { site in
      var moments: [String] = []
      var digests: [String] = []
      for text in ["one", "two", "three"] {
        try site.publish(["a.js": text])
        moments.append(Timestamp.text(Clock.unixMilliseconds()))
        digests.append(try site.poll()["data"]?["digest"]?.string ?? "")
        // The next release gets a later time.
        let now = Clock.unixMilliseconds()
        #expect(Wait.until(5) { Clock.unixMilliseconds() > now + 1 })
      }
      for (place, moment) in moments.enumerated() {
        let version = "\(place + 1)"
        #expect(try Self.run(site, "show", "--at", moment).output.hasPrefix("version \(version) "))
        let manifest = try Self.run(site, "show", moment, "--manifest").output
        #expect(SHA256.of(Array(manifest.utf8)).hex == digests[place])
        let log = try JSONValue.parse(Array(Self.run(site, "log", "--at", moment, "--json").output.utf8))
        #expect(log["releases"]?.array?.count == place + 1)
        let device = "\(site.scratch.path)/then-\(version)"
        let pulled = try Self.run(site, "pull", "--to", device, "--at", moment, "--tree", Site.base)
        #expect(pulled.exitCode == 0, "\(pulled.errors)")
        #expect(try site.tree(of: "then-\(version)").texts == ["a.js": ["one", "two", "three"][place]])
      }
      #expect(try Self.run(site, "diff", "--at", moments[0]).output.hasSuffix("+0 ~1 −0, 5 B new\n"))
      #expect(try Self.run(site, "diff", moments[1], moments[1]).output.hasSuffix("+0 ~0 −0, 0 B new\n"))
      #expect(try Self.run(site, "pin", "--at", moments[1], "audited").output == "pinned version 2\n")
      #expect(try Self.run(site, "pin", "list").output.contains("audited"))
      #expect(
        try Self.run(site, "pin", "remove", moments[1]).output.hasPrefix("version 2 is no longer pinned"))
      let conditional = try Self.run(
        site, "rollback", "--bundle", "main", "--to", "1", "--if-version", moments[0])
      #expect(conditional.exitCode == 3 && conditional.errors.contains("version 3 by admin"))
      #expect(try Self.run(site, "rollback", "--bundle", "main", "--at", moments[0]).exitCode == 0)
      #expect(try site.poll()["data"]?["digest"]?.string == digests[0])
    }
  }

  @Test(
    "If no server answers, commands print the address they tried",
    arguments: [
      ["rollback", "--all-bundles", "--steps", "1"], ["promote", "--from", "test", "--to", "online"],
      ["channel", "list"], ["log"], ["show"], ["diff", "1"], ["pin", "list"], ["gc"], ["audit", "verify"],
      ["token", "list"], ["pull", "--to", "device", "--at", "2026-11-19T14:05Z"],
    ])
  func serverDown(words: [String]) throws {
    let scratch = try Scratch()
    let port = Nginx.freePort()
    let child = try Child(
      [Binary.path] + words,
      environment: [
        "XCACHE_APP": "shop", "XCACHE_SERVER": "http://127.0.0.1:\(port)", "XCACHE_TOKEN": "xcache_0_0",
        "HOME": scratch.path,
      ], in: scratch.path)
    let outcome = try Outcome(child)
    #expect(outcome.exitCode == 1 && outcome.output.isEmpty)
    #expect(outcome.errors.contains("127.0.0.1") && outcome.errors.contains("\(port)"), "\(outcome.errors)")
  }
}
