import Manifests
import System
import Testing

/// Moving a channel to another public URL.
@Suite("Changing the public URL") struct RebaseTests {
  @Test("Devices fetch nothing again, and the old URLs keep working, also after a restart") func move()
    throws
  {
    try Site.with(["--public-url", "https://one.example.com/old/place"]) { site in
      try site.publish(["a.js": "1", "b.js": "both"])
      try site.publish(["a.js": "2", "b.js": "both"])
      // The device of these tests downloads from the server's own address.
      let before = try site.poll()["data"]?["resourcemap"]
      let old = Site.path(of: try site.entry("a.js"))
      #expect(old.hasPrefix("/old/place/xcache/"))
      let words = ["channel", "set", "--public-url", "https://two.example.com/new", "--app", "shop"]
      let dry = try Outcome(try site.start(words + ["--dry-run"]))
      #expect(
        dry.exitCode == 0 && dry.output.contains("would become version 3, with 2 downloads"), "\(dry.errors)")
      #expect(try Outcome(try site.start(words)).exitCode == 2, "no terminal to ask on")
      #expect(try site.poll()["data"]?["resourcemap"] == before)

      let moved = try Outcome(try site.start(words + ["--yes", "-v"]))
      #expect(moved.exitCode == 0 && moved.output.contains("fetch no file again"), "\(moved.errors)")
      let new = Site.path(of: try site.entry("a.js"))
      #expect(new == "/new" + old.dropFirst("/old/place".count), "all but the public URL stays: \(new)")
      let patch = try site.poll("version=2&patch=1")["data"]
      #expect(patch?["version"]?.string == "3" && patch?["deltas"]?.object?.members.isEmpty == true)
      func answers() throws {
        for path in [old, new] { #expect(try site.web.ask(path).text == "2", "\(path)") }
      }
      try answers()
      try site.crash()
      try answers()
      #expect(
        try site.run("status", "--app", "shop").output.contains("public URL https://two.example.com/new"))
      #expect(try site.run("log", "--app", "shop").output.contains("rebase"))
      #expect(try site.run("audit", "log").output.contains("rebase"))
      #expect(try site.run("doctor", "--deep", "--data", site.data).exitCode == 0)
      let again = try Outcome(try site.start(words + ["--yes"]))
      #expect(again.exitCode == 0 && again.output.contains("already"), "\(again.output)")

      // Later releases use the new URL; resources they don't change keep theirs, and one step back is a step in content.
      try site.publish(["a.js": "3", "b.js": "both"])
      #expect(Site.path(of: try site.entry("a.js")).hasPrefix("/new/"))
      #expect(try site.run("rollback", "--yes", "--app", "shop").exitCode == 0)
      #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).text == "2")
      #expect(try site.run("rollback", "--yes", "--app", "shop").exitCode == 0)
      #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).text == "1")
      let copy = site.scratch.path + "/www"
      #expect(try site.run("mirror", "--to", copy).exitCode == 0)
      let verified = try site.run("mirror", "verify", copy)
      #expect(verified.exitCode == 0, "\(verified.output)")
    }
  }

  @Test("A device that has the files fetches none") func device() throws {
    try Site.with { site in
      let url = site.url
      try site.publish(["a.js": "1", "b.js": "both"])
      try site.pull("device")
      let words = ["channel", "set", "--public-url", url + "/elsewhere", "--app", "shop", "--yes"]
      #expect(try Outcome(try site.start(words)).exitCode == 0)
      let update = try site.pull("device")["update"]
      #expect(update?["fetched"]?.integer == 0, "\(String(describing: update))")
      #expect(try site.pull("new device")["update"]?["fetched"]?.integer == 2)
      try site.publish(["a.js": "2", "b.js": "both"])
      #expect(try site.pull("device")["update"]?["fetched"]?.integer == 1)
    }
  }

  @Test("A channel without a release just gets the URL; a frozen one refuses it")
  func emptyAndFrozenChannels() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      #expect(try site.run("channel", "create", "test", "--app", "shop").exitCode == 0)
      let words = ["channel", "set", "--public-url", "https://two.example.com/new", "--app", "shop", "--yes"]
      let empty = try Outcome(try site.start(words + ["--channel", "test"]))
      #expect(empty.exitCode == 0 && empty.output.contains("nothing is published yet"), "\(empty.errors)")
      try site.publish(["a.js": "1"], "--channel", "test")
      let entry = try site.poll("channel=test")["data"]?["resourcemap"]?["\(Site.base)/a.js"]
      #expect(entry?["download"]?.string?.hasPrefix("https://two.example.com/new/xcache_test/") == true)
      #expect(try site.run("channel", "freeze", "--app", "shop", "--reason", "sale").exitCode == 0)
      let frozen = try Outcome(try site.start(words))
      #expect(frozen.exitCode == 3 && frozen.errors.contains("frozen"), "\(frozen.errors)")
      #expect(try Outcome(try site.start(words + ["--break-glass", "now"])).exitCode == 0)
    }
  }

  @Test("It is refused during a rollout, and so is its dry run") func duringRollout() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"], "--rollout", "5%")
      for word in ["--dry-run", "--yes"] {
        let move = try site.run(
          "channel", "set", "--public-url", "https://two.example.com/new", "--app", "shop", word)
        #expect(move.exitCode == 3 && move.errors.contains("a rollout is open"), "\(word): \(move.errors)")
      }
    }
  }

  @Test("Each publish warns of a loopback public URL, and of no other") func loopback() throws {
    try Site.with { site in
      let folder = try site.scratch.folder("next", ["a.js": "1"])
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
      ]
      let first = try Outcome(try site.start(words))
      #expect(first.exitCode == 0 && first.errors.contains("only this machine"), "\(first.errors)")
      #expect(first.errors.contains("`xcache channel set --public-url URL --app shop`"), "\(first.errors)")
      #expect(try !Outcome(try site.start(words + ["-q"])).errors.contains("only this machine"))
    }
    try Site.with(["--public-url", "https://cdn.example.com/x"]) { site in
      let folder = try site.scratch.folder("next", ["a.js": "1"])
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
      ]
      #expect(try !Outcome(try site.start(words)).errors.contains("only this machine"))
    }
  }
}
