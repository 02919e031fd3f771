import System
import Testing
import Values

@Suite("A static copy of several apps and channels")
struct MirrorChannelsTests {
  private func publishAll(_ site: Site) throws {
    try site.publish(["a.js": "shop online"])
    try site.publish(["a.js": "shop test"], "--channel", "test")
    try site.publish(["a.js": "mall"], app: "mall")
  }

  @Test("All channels are mirrored from either source; --channel and --app select some")
  func all() throws {
    try Site.with { site in
      try publishAll(site)
      let data = try site.mirror("--data", site.data, "--to", "www")
      #expect(data["channels"]?.array?.count == 3 && data["leftOut"]?.array?.isEmpty == true)
      #expect(try site.mirror("--to", "www2")["channels"]?.array?.count == 3)
      #expect(try site.mirrored("www") == site.mirrored("www2"))
      let some = try site.mirror("--to", "www3", "--app", "shop", "--channel", "test")
      #expect(some["channels"]?.array?.count == 1 && some["leftOut"]?.array?.count == 2)
      #expect(try site.mirrored("www3").keys.allSatisfy { $0.hasPrefix("xcache_test/") })
      let wrong = try site.run("mirror", "--to", "www4", "--channel", "tset")
      #expect(wrong.exitCode == 1 && wrong.errors.contains("tset") && wrong.errors.contains("shop test"))
    }
  }

  @Test("Each --app and --channel must match a channel, also if another one does")
  func misspelt() throws {
    try Site.with { site in
      try publishAll(site)
      for words in [
        ["--app", "shop", "--app", "nope"], ["--channel", "test", "--channel", "nope"],
        ["--app", "shop", "--channel", "nope"],
      ] {
        let run = try Outcome(try site.start(["mirror", "--to", "www"] + words))
        #expect(run.exitCode == 1 && run.errors.contains("nope"), "\(words): \(run.errors)")
      }
      try site.mirror("--to", "www")
      for words in [["--app", "nope"], ["--app", "shop", "--app", "nope"]] {
        for token in [nil, ""] {
          let verified = try Outcome(try site.start(["mirror", "verify", "www"] + words, token: token))
          #expect(verified.exitCode == 1 && verified.errors.contains("app nope"), "\(verified.output)")
        }
      }
    }
  }

  @Test("A run that was interrupted, and a run for one channel after it, keep the other channels")
  func endedRun() throws {
    try Site.with { site in
      try publishAll(site)
      try site.mirror("--to", "www")
      // The marker that a killed run leaves.
      try DurableFile.write([], to: site.scratch.path + "/www/.xcache-mirror/unfinished")
      try site.mirror("--to", "www", "--channel", "online", "--prune", "--grace", "0")
      #expect(try site.mirrored("www")["xcache_test/shop/configure.json"] != nil)
      let verified = try site.run("mirror", "verify", "www", token: "")
      #expect(
        verified.exitCode == 1 && verified.output.contains("channel test of app shop"), "\(verified.output)")
      try site.mirror("--to", "www", "--prune", "--grace", "0")
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
    }
  }

  @Test("A damaged file at the origin is named, and stops only its channel", arguments: [true, false])
  func damaged(isLocal: Bool) throws {
    try Site.with { site in
      try publishAll(site)
      try site.mirror("--to", "www")
      try site.publish(["a.js": "shop two"])
      try site.publish(["a.js": "mall two"], app: "mall")
      let digest = SHA256.of(Array("shop two".utf8)).hex
      let blob = "\(site.data)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
      try Kernel.remove(blob)
      let from = isLocal ? ["--data", site.data] : []
      let words = ["mirror", "--to", "www", "--prune", "--grace", "0"] + from
      let run = try Outcome(try site.start(words))
      #expect(run.exitCode == 1 && run.output.contains("mall online: version 2"), "\(run.output)")
      for words in [
        "shop online: unchanged in the copy",
        "publish again: \(Site.base)/a.js (shop online, bundle main)",
      ] { #expect(run.errors.contains(words), "\(run.errors)") }
      #expect(
        try site.run("mirror", "verify", "www").output.contains("before it was done with channel online"))
      // The server notices the damage, unless a scrub already did.
      #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).status == 500)
      try site.publish(["a.js": "shop two"])
      try site.mirror("--to", "www")
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
    }
  }

  @Test("verify names what the copy lacks; without an origin, it says what it couldn't check")
  func verify() throws {
    try Site.with { site in
      try publishAll(site)
      try site.mirror("--to", "www", "--channel", "online")
      for words in [[], ["--data", site.data]] {
        let found = try Outcome(try site.start(["mirror", "verify", "www"] + words))
        #expect(found.exitCode == 1, "\(found.output)")
        #expect(found.output.contains("error: xcache_test/shop: the origin has channel test of app shop"))
      }
      #expect(try site.run("mirror", "verify", "www", "--channel", "online").exitCode == 0)
      let alone = try Outcome(
        try site.start(["mirror", "verify", "www"], token: "", launcher: ["env", "-u", "XCACHE_SERVER"]))
      #expect(alone.exitCode == 0, "\(alone.errors)")
      #expect(alone.output.contains("not in the copy, as its mirror.json says: shop test"))
      #expect(alone.output.contains("no origin was given"))
      // Copies are needed when the origin is lost: verify says what it couldn't check, and continues.
      let lost = try site.run(
        "mirror", "verify", "www", "--server", "http://127.0.0.1:1", "--channel", "online")
      #expect(lost.exitCode == 0 && lost.output.contains("could not be asked"), "\(lost.output)")
      let strict = try site.run("mirror", "verify", "www", "--server", "http://127.0.0.1:1", "--strict")
      #expect(strict.exitCode == 1)
      let wrong = try site.run("mirror", "verify", "www", token: "xcache_wrong")
      #expect(wrong.exitCode == 1 && wrong.errors.contains("token"), "\(wrong.errors)")
      try site.mirror("--to", "www")
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
    }
  }

  @Test("verify prints a remedy for each kind of damage")
  func advice() throws {
    try Site.with { site in
      try publishAll(site)
      try site.mirror("--to", "www", "--channel", "online")
      let missing = try site.run("mirror", "verify", "www")
      #expect(
        missing.output.contains(": 1 divergence; run `xcache mirror --to www` without"), "\(missing.output)")
      #expect(!missing.output.contains("--repair"))
      try Kernel.remove(site.scratch.path + "/www/xcache/shop/info.json")
      let both = try site.run("mirror", "verify", "www")
      #expect(
        both.output.contains(": 2 divergences; `xcache mirror --repair --to www`")
          && both.output.contains("; run `xcache mirror --to www` without"),
        "\(both.output)")
    }
  }

  @Test("restore names the channels that it made, and those that the copy lacked")
  func restore() throws {
    try Site.with { site in
      try publishAll(site)
      try site.mirror("--to", "www", "--app", "shop")
      let restored = try site.run("restore", "--from", "www", "--data", site.scratch.path + "/new")
      #expect(restored.exitCode == 0, "\(restored.errors)")
      for words in [
        "shop online: version 1", "shop test: version 1", "not in the copy and not restored: mall online",
      ] {
        #expect(restored.output.contains(words), "\(restored.output)")
      }
    }
  }

  @Test(
    "A token limited to one app updates that app in a copy of all apps, says so, and registers only that app")
  func limitedToken() throws {
    try Site.with { site in
      try publishAll(site)
      try site.mirror("--to", "www")
      let made = try site.run(
        "token", "create", "ci", "--no-expiry", "--scope", "read", "--app", "mall", "--json")
      let token = try #require(try JSONValue.parse(Array(made.output.utf8))["token"]?.string)
      try site.publish(["a.js": "mall two"], app: "mall")
      let words = ["mirror", "--to", "www", "--prune", "--grace", "0"]
      let done = try Outcome(try site.start(words, token: token))
      #expect(done.exitCode == 0, "\(done.errors)")
      #expect(
        done.output.contains("the token may read only app mall")
          && done.output.contains("mall online: version 2"))
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
    }
  }
}
