import Glibc
import Manifests
import System
import Testing
import Values

/// Releases to a share of the devices.
@Suite("Rollouts") struct RolloutTests {
  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words + ["--app", "shop"]))
  }

  private static func publish(_ site: Site, _ files: Files, bundle: String = "main", _ more: String...) throws
    -> Outcome
  {
    let folder = "build-\(bundle)"
    try site.scratch.folder(folder, files)
    return try Outcome(
      try site.start(
        [
          "publish", folder, "--app", "shop", "--bundle", bundle, "--base-url",
          "https://m.example.com/\(bundle)/", "--create",
        ] + more))
  }

  private static func version(_ site: Site, _ query: String = "") throws -> String? {
    try site.poll(query)["data"]?["version"]?.string
  }

  @Test("The open rollout is shown with the versions that devices poll with") func openRollout()
    throws
  {
    try Site.with { site in
      #expect(try Self.publish(site, ["a.js": "one"]).exitCode == 0)
      let never = try Self.publish(site, ["a.js": "two"], "--rollout", "5%", "--app-version", "<4 >=5")
      #expect(
        never.exitCode == 2 && never.errors.contains("no version can be in this range"), "\(never.errors)")
      #expect(try Self.publish(site, ["a.js": "two"], "--rollout", "5%").exitCode == 0)

      for (text, version) in [("one", "1"), ("two", "2")] {
        let same = try Self.publish(site, ["a.js": text], "--rollout", "7%")
        #expect(same.output.contains("nothing changed: version \(version)"), "\(same.output)")
        #expect(
          same.errors.contains(
            "the rollout of version 2 stays as it is: it goes to 5 % of the devices; `xcache rollout set"),
          "\(same.errors)")
      }
      func polls(_ version: Int, _ count: Int) throws {
        for _ in 0..<count { _ = try site.poll("version=\(version)") }
      }
      try polls(1, 3)
      try polls(2, 1)
      // Polls are counted in memory and written periodically.
      let summary = "in 4 polls of this hour and the one before: 25 % have version 2, 75 % version 1"
      var show = ""
      for _ in 0..<60 where !show.contains(summary) {
        show = try Self.run(site, "rollout", "show").output
        if !show.contains(summary) { Clock.sleep(for: .milliseconds(500)) }
      }
      #expect(show.contains(summary), "\(show)")

      // A preview on a device that the rule excludes: it isn't in group qa, and the share is 0 %.
      let none = try Self.run(site, "rollout", "set", "0%")
      #expect(none.exitCode == 0)
      for (words, version) in [(["--candidate"], "2"), ([], "2")] {
        let pull = try Outcome(
          site.start(["pull", "--to", "in", "--app", "shop", "--force", "--json"] + words))
        #expect(
          try JSONValue.parse(Array(pull.output.utf8))["version"]?.string == version,
          "\(pull.output) \(pull.errors)")
      }
      for (words, version) in [(["--group", "qa"], "1"), (["--candidate", "--group", "qa"], "2")] {
        let pull = try Outcome(
          site.start(["pull", "--to", "out", "--app", "shop", "--force", "--json"] + words))
        #expect(
          try JSONValue.parse(Array(pull.output.utf8))["version"]?.string == version,
          "\(pull.output) \(pull.errors)")
      }
      #expect(try Self.run(site, "rollout", "set", "5%", "--group", "qa").exitCode == 0)
      let member = try Outcome(
        site.start(["pull", "--to", "member", "--app", "shop", "--group", "qa", "--json"]))
      #expect(try JSONValue.parse(Array(member.output.utf8))["version"]?.string == "2", "\(member.output)")
      #expect(try Self.run(site, "rollout", "set", "5%", "--group", "none").exitCode == 0)

      #expect(try Self.run(site, "rollout", "pause").exitCode == 0)
      let again = try Self.run(site, "rollout", "pause").output
      #expect(
        again.contains("nothing changed: version 2 is paused at 5 % of the devices already"), "\(again)")
      let completed = try Self.publish(site, ["a.js": "two"])
      #expect(
        completed.output.contains("version 2, becomes the version of all devices"), "\(completed.output)")
      #expect(!completed.output.contains("nothing changed"), "\(completed.output)")
    }
  }

  @Test("A rollout from 5 % of the devices to all, and another one that is halted") func commands() throws {
    try Site.with { site in
      #expect(try Self.publish(site, ["a.js": "one"]).exitCode == 0)
      let begun = try Self.publish(site, ["a.js": "two"], "--rollout", "5%", "--app-version", ">=4.2 <5")
      #expect(begun.exitCode == 0, "\(begun.errors)")
      #expect(
        begun.output.contains(
          "goes to 5 % of the devices, with app version >=4.2 <5; all others stay at version 1"),
        "\(begun.output)")
      #expect(try Self.version(site) == "1" && Self.version(site, "candidate=1") == "2")
      let status = try Self.run(site, "status")
      #expect(status.output.contains("shop online  version 1"), "\(status.output)")
      #expect(status.output.contains("version 2 goes to 5 % of the devices"), "\(status.output)")
      #expect(try Self.run(site, "log").output.contains("publish, candidate, 5 %"))
      #expect(try Self.run(site, "show", "2").output.contains("rollout   open, to 5 % of the devices"))

      let set = try Self.run(site, "rollout", "set", "25%", "--group", "qa", "--app-version", "any")
      #expect(
        set.output.contains("version 2 goes to 25 % of the devices and group qa; before, to 5 %"), "\(set)")
      #expect(try site.poll()["data"]?["rollout"]?["share"]?.integer == 2500)
      #expect(try Self.run(site, "rollout", "set", "25%").output.contains("nothing changed"))
      #expect(try Self.run(site, "rollout", "pause").exitCode == 0)
      #expect(try site.poll()["data"]?["rollout"]?["share"]?.integer == 0)
      #expect(try Self.run(site, "rollout", "show").output.contains("paused"))

      // A release of another bundle isn't delayed, and the candidate stays open.
      let other = try Self.publish(site, ["b.js": "b"], bundle: "other")
      #expect(other.output.contains("version 2, is made again on top as version 4"), "\(other.output)")
      #expect(try Self.version(site) == "3" && Self.version(site, "candidate=1") == "4")
      try site.crash()
      #expect(try Self.version(site) == "3" && Self.version(site, "candidate=1") == "4")

      let completed = try Self.run(site, "rollout", "complete")
      #expect(completed.output.contains("version 4 is the version of all devices now"), "\(completed)")
      #expect(try Self.version(site) == "4")

      #expect(try Self.publish(site, ["a.js": "three"], "--rollout", "1%").exitCode == 0)
      let frozen = try Self.run(site, "channel", "freeze", "--reason", "sale")
      #expect(frozen.exitCode == 0)
      #expect(try Self.run(site, "rollout", "set", "50%").exitCode == 3)
      let halted = try Self.run(site, "rollout", "halt", "-m", "checkout is broken")
      #expect(halted.exitCode == 0 && halted.output.contains("version 6 takes version 5 back"), "\(halted)")
      #expect(try site.poll()["data"]?["rollback"]?.string == "6")
      let show = try Self.run(site, "rollout", "show").output
      #expect(show.contains("no rollout is open: all devices have version 6"), "\(show)")
      #expect(show.contains("halted") && show.contains("checkout is broken"), "\(show)")
      let audit = try Outcome(site.start(["audit", "log"])).output
      for act in ["rollout.set", "rollout.pause", "rollout.complete", "rollout.halt"] {
        #expect(audit.contains(act), "\(act)")
      }
      #expect(try Outcome(site.start(["audit", "verify"])).exitCode == 0)
    }
  }

  @Test("The cost of a release is that of the full version, also where one candidate replaces another")
  func cost() throws {
    try Site.with { site in
      // Digests are incompressible, and no delta is worth making.
      func large(_ seed: String) -> String {
        (0..<400).map { SHA256.of(Array("\(seed)\($0)".utf8)).hex }.joined()
      }
      let first = large("one")
      #expect(try Self.publish(site, ["a.js": "one", "big.bin": first]).exitCode == 0)
      let second = large("two")
      #expect(try Self.publish(site, ["a.js": "one", "big.bin": second], "--rollout", "5%").exitCode == 0)
      // Small for devices with the candidate, large for all others.
      let refused = try Self.publish(
        site, ["a.js": "two", "big.bin": second], "--rollout", "5%", "--max-update", "3KB")
      #expect(refused.exitCode == 3, "\(refused.output)\(refused.errors)")
      let wide = try Self.publish(
        site, ["a.js": "two", "big.bin": second], "--rollout", "5%", "--max-update", "300KB")
      #expect(wide.exitCode == 0 && wide.output.contains("+0 ~2 −0"), "\(wide.output)\(wide.errors)")
      // The other way round.
      let small = try Self.publish(
        site, ["a.js": "three", "big.bin": first], "--rollout", "5%", "--max-update", "3KB")
      #expect(small.exitCode == 0 && small.output.contains("+0 ~1 −0"), "\(small.output)\(small.errors)")
      let show = try Self.run(site, "show", "4").output
      #expect(show.contains("changes   +0 ~1 −0, 5 B new") && show.contains("B in 2 requests"), "\(show)")
      let diff = try Self.run(site, "diff", "1", "4").output
      #expect(diff.contains("version 1 → 4: +0 ~1 −0") && !diff.contains("big.bin"), "\(diff)")
      let dry = try Self.publish(site, ["b.js": "b"], bundle: "other", "--max-update", "3KB")
      #expect(dry.exitCode == 0 && dry.output.contains("+1 ~0 −0"), "\(dry.output)\(dry.errors)")
      let other = try Self.run(site, "show", "5").output
      #expect(other.contains("other") && !other.contains("main"), "\(other)")
    }
  }

  @Test("A static copy has both versions, can be verified, and restores the full one") func copy() throws {
    try Site.with { site in
      #expect(try Self.publish(site, ["a.js": "one", "same.js": "same"]).exitCode == 0)
      #expect(try Self.publish(site, ["a.js": "two", "same.js": "same"]).exitCode == 0)
      #expect(try Self.publish(site, ["a.js": "three", "same.js": "same"], "--rollout", "5%").exitCode == 0)
      // Packs are made meanwhile: one run may find a pack that another one didn't.
      var files: [String: [UInt8]] = [:]
      for _ in 0..<5 {
        try site.mirror("--data", site.data, "--to", "www")
        try site.mirror("--to", "www2")
        files = try site.mirrored("www")
        if try site.mirrored("www2") == files { break }
      }
      #expect(try site.mirrored("www2") == files)
      func answer(_ query: String) throws -> [UInt8] {
        try site.web.ask("/configure.json?app=shop&\(query)").body
      }
      #expect(files["xcache/shop/configure.json"] == (try answer("")))
      #expect(files["xcache/shop/version.json"] == (try answer("version=2")))
      for base in 1...2 {
        #expect(
          files["xcache/shop/patch/\(base)-3.json"] == (try answer("version=\(base)&patch=1&candidate=1")))
      }
      #expect(files["xcache/shop/patch/1-2.json"] == (try answer("version=1&patch=1")))
      let whole = try ConfigureAnswer.parse(files["xcache/shop/configure/3.json"] ?? [])
      guard case .whole(let candidate) = whole else { return #expect(Bool(false), "no manifest") }
      #expect(candidate.version.number == 3 && candidate.extras == .none)
      let verified = try site.run("mirror", "verify", "www")
      #expect(verified.exitCode == 0, "\(verified.output) \(verified.errors)")
      // A copy without the candidate's manifest is incomplete.
      try Kernel.remove(site.scratch.path + "/www2/xcache/shop/configure/3.json")
      #expect(try site.run("mirror", "verify", "www2").exitCode != 0)

      let restored = try Outcome(try site.start(["restore", "--from", "www", "--data", "back"]))
      #expect(restored.exitCode == 0, "\(restored.errors)")
      let checked = try Outcome(try site.start(["doctor", "--data", "back"]))
      #expect(checked.exitCode == 0, "\(checked.output)")

      // After the rollout, the next run removes the candidate from the copy.
      #expect(try Self.run(site, "rollout", "halt", "-m", "no").exitCode == 0)
      try site.mirror("--to", "www")
      let later = try site.mirrored("www")
      #expect(later["xcache/shop/version.json"] == (try answer("version=4")))
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
    }
  }

  /// Writes a prefetch config with one call to an API of this name.
  private static func config(_ site: Site, _ name: String) throws -> String {
    try site.scratch.write(
      "\(name).json",
      """
      [{"url":"https://m.example.com/main/a.html","interfaces":[{"api":"https://m.example.com/\(name)","method":"GET"}]}]
      """)
    return "\(name).json"
  }

  @Test("A prefetch config follows a candidate: on devices, in the copy, when halted and when completed")
  func prefetchConfig() throws {
    try Site.with { site in
      #expect(try Self.publish(site, ["a.html": "one"]).exitCode == 0)
      #expect(try Self.run(site, "prefetch", "push", try Self.config(site, "old")).exitCode == 0)
      let pushed = try Self.run(site, "prefetch", "push", try Self.config(site, "new"), "--rollout", "0%")
      #expect(
        pushed.output.contains("1 page, 1 call, version 2")
          && pushed.output.contains("its candidate, version 2, has the files of version 1")
          && pushed.output.contains("goes to 0 % of the devices; all others keep the config that they have"),
        "\(pushed.output) \(pushed.errors)")
      func held(_ folder: String, _ words: String...) throws -> [String?] {
        let pull = try Outcome(
          site.start(["pull", "--to", folder, "--app", "shop", "--force", "--json"] + words))
        let state = try JSONValue.parse(Array(pull.output.utf8))
        return [state["version"]?.string, state["prefetch"]?.string]
      }
      #expect(try held("out") == ["1", "1"])
      #expect(try held("in", "--candidate") == ["2", "2"])
      for words in [["rollout", "show"], ["status"], ["show", "2"]] {
        let shown = try Outcome(site.start(words + ["--app", "shop"])).output
        #expect(shown.contains("prefetch config 2"), "\(shown)")
      }
      // The copy has both configs, and both are verified.
      try site.mirror("--to", "www")
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
      let files = try site.mirrored("www")
      let candidates = try site.web.ask("/prefetchConfig?app=shop&version=2").body
      #expect(files["xcache/shop/prefetchConfig/2.json"] == candidates)
      #expect(try site.web.ask("/xcache/shop/prefetchConfig/2.json").body == candidates)
      #expect(try site.web.ask("/xcache/shop/prefetchConfig/3.json").status == 404)
      #expect(files["xcache/shop/prefetchConfig.json"] == (try site.web.ask("/prefetchConfig?app=shop").body))
      // A release of other files keeps it; a release for another audience is refused.
      #expect(try Self.publish(site, ["a.html": "two"]).exitCode == 0)
      // Pushing the config that all devices have doesn't withdraw it, and says so.
      let still = try Self.run(site, "prefetch", "push", "old.json")
      #expect(
        still.output.contains("nothing changed") && still.errors.contains("rollout halt -m TEXT"),
        "\(still.errors)")
      // A token for one bundle may not change the rollout.
      let token = try Self.run(
        site, "token", "create", "limited", "--scope", "publish", "--bundle", "main", "--no-expiry", "--json")
      let text = try JSONValue.parse(Array(token.output.utf8))["token"]?.string ?? ""
      for verb in ["set", "pause", "complete", "halt"] {
        let body: JSONValue = verb == "set" ? ["share": 50] : verb == "halt" ? ["message": "no"] : [:]
        let answer = try site.web.ask(
          "/api/v1/apps/shop/channels/online/rollout/\(verb)", "POST", ["Authorization": "Bearer \(text)"],
          body: body.canonical)
        #expect(answer.status == 403, "\(verb): \(answer.text)")
      }
      let other = try Self.run(site, "prefetch", "push", try Self.config(site, "next"), "--rollout", "5%")
      #expect(other.exitCode == 3 && other.errors.contains("--rollout 0%"), "\(other.errors)")
      #expect(try held("in") == ["4", "2"])
      #expect(try held("out") == ["3", "1"])
      #expect(try Self.run(site, "rollout", "set", "100%").exitCode == 0)
      #expect(try held("out") == ["4", "2"])
      // Halted: nothing is fetched, since devices still have the channel's config.
      #expect(try Self.run(site, "rollout", "halt", "-m", "no").exitCode == 0)
      #expect(try held("out") == ["5", "1"])
      #expect(try site.web.ask("/xcache/shop/prefetchConfig/2.json").status == 404)
      try site.mirror("--to", "www")
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
      // The second attempt is completed.
      let next = try Self.run(site, "prefetch", "push", "next.json", "--rollout", "100%")
      #expect(next.exitCode == 0, "\(next.errors)")
      #expect(try Self.run(site, "rollout", "complete").exitCode == 0)
      #expect(try held("out") == ["6", "3"])
      let log = try Self.run(site, "prefetch", "log").output
      #expect(log.contains("push, halted"), "\(log)")
      try site.crash()
      #expect(try held("in") == ["6", "3"])
      let replaced = try Self.run(site, "prefetch", "push", "old.json", "--rollout", "5%")
      #expect(replaced.exitCode == 0)
      let toAll = try Self.run(site, "prefetch", "push", "new.json")
      #expect(
        toAll.output.contains(
          "takes the place of config 4, which went to 5 % of the devices along with version 7; that rollout has"
        ),
        "\(toAll.output)")
      #expect(try Self.run(site, "rollout", "show").output.contains("no rollout is open"))
    }
  }
}
