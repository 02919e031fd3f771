import Glibc
import System
import Testing
import TestSupport
import Values

/// gc, backup, restore and doctor, and failures that devices report.
@Suite("Retention and backup") struct KeepingTests {
  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words + ["--app", "shop"]))
  }

  @Test("gc keeps pinned versions, says why, and leaves the newest unchanged")
  func collect() throws {
    try Site.with { site in
      for text in ["one", "two", "three", "four"] { try site.publish(["a.js": text]) }
      let newest = try site.poll()
      #expect(try Self.run(site, "pin", "2", "the app ships it").exitCode == 0)
      let words = ["gc", "--keep-versions", "1", "--keep-days", "0"]
      let dry = try Outcome(try site.start(words + ["--dry-run"]))
      #expect(dry.exitCode == 0 && dry.output.contains("would drop 2 versions"), "\(dry.output)")
      #expect(try Self.run(site, "show", "1").exitCode == 0)
      let done = try Outcome(try site.start(words))
      #expect(
        done.exitCode == 0 && done.output.contains("pinned by admin: the app ships it"), "\(done.output)")
      #expect(done.output.contains("dropped 2 versions (1, 3)"), "\(done.output)")
      #expect(try site.poll() == newest)
      let gone = try Self.run(site, "rollback", "--bundle", "main", "--to", "1")
      #expect(gone.exitCode == 1 && gone.errors.contains("version 1 is no longer kept"))
      #expect(try Self.run(site, "rollback", "--bundle", "main", "--to", "2").exitCode == 0)
      let again = try Outcome(try site.start(words))
      #expect(again.exitCode == 0, "\(again.errors)")
      #expect(try site.run("gc", "--keep-versions", "0").exitCode == 2)
      let ci = try site.run("token", "create", "ci", "--scope", "publish", "--all-apps", "--no-expiry").output
        .filter { !$0.isWhitespace }
      #expect(try site.run("gc", token: ci).errors.contains("unrestricted admin token"))
      #expect(try site.run("doctor", "--deep", "--data", site.data).exitCode == 0)
    }
  }

  @Test(
    "Files removed by gc are 404 at once, though each event loop had them open: plain, coded and as a delta")
  func goneAtOnce() throws {
    try Site.with { site in
      let text = (0..<4000).map {
        "a line that is in both versions: \(SHA256.of([UInt8($0 % 251)] + Array("\($0)".utf8)).hex)\n"
      }.joined()
      try site.publish(["a.js": text], "--wait-deltas")
      let path = Site.path(of: try site.entry("a.js"))
      try site.publish(["a.js": text + "new"], "--wait-deltas")
      let deltas = try site.poll("version=1&patch=1")["data"]?["deltas"]?["\(Site.base)/a.js"]
      let delta = Site.path(of: deltas)
      let codings = ["identity", "gzip", "zstd"]
      for coding in codings + codings + codings {
        #expect(try site.web.ask(path, "GET", ["Accept-Encoding": coding]).status == 200)
        #expect(try site.web.ask(delta).status == 200)
      }
      try site.publish(["b.js": "other"])
      let collected = try site.run("gc", "--keep-versions", "1", "--keep-days", "0")
      #expect(collected.exitCode == 0, "\(collected.errors)")
      for coding in codings + codings + codings {
        #expect(try site.web.ask(path, "GET", ["Accept-Encoding": coding]).status == 404, "\(coding)")
        #expect(try site.web.ask(delta).status == 404)
      }
    }
  }

  @Test("A backup of a running origin can be restored, and the restored origin sends the same bytes")
  func backup() throws {
    let site = try Site()
    try site.publish(["a.js": "one", "b.js": "both"])
    let backup = site.scratch.path + "/backup"
    #expect(
      try site.run("restore", "--from-backup", backup, "--data", "x").errors.contains("no complete backup"))
    #expect(try site.run("backup", "--to", backup).exitCode == 2)
    let first = try site.run("backup", "--data", site.data, "--to", backup)
    #expect(first.exitCode == 0 && first.output.contains("2 files copied"), "\(first.errors)")
    try site.publish(["a.js": "two", "b.js": "both"])
    let second = try site.run("backup", "--data", site.data, "--to", backup)
    #expect(second.output.contains("1 file copied") && second.output.contains("2 already there"))
    #expect(try site.run("doctor", "--deep", "--data", backup).exitCode == 0)
    let map = try site.poll()["data"]
    let trail = try site.run("audit", "verify").output
    #expect(try site.run("backup", "--data", site.data, "--to", site.data).exitCode == 1)

    let restored = site.scratch.path + "/restored"
    let words = ["restore", "--from-backup", backup, "--data", restored]
    #expect(try Outcome(try site.start(words)).exitCode == 0)
    let twice = try Outcome(try site.start(words))
    #expect(twice.exitCode == 3 && twice.errors.contains(restored), "\(twice.errors)")
    site.server.signal(SIGTERM)
    #expect(try site.server.wait() == 0)
    Scratch.remove(site.data)
    #expect(rename(restored, site.data) == 0)
    try site.start()
    #expect(try site.poll()["data"] == map)
    #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).text == "two")
    #expect(try site.run("audit", "verify").output == trail)
    try site.stop()
  }

  @Test("backup, restore, serve and status name a damaged file, and a publish repairs it")
  func damage() throws {
    let site = try Site()
    try site.publish(["a.js": "one", "b.js": "two"])
    let digest = SHA256.of(Array("one".utf8)).hex
    let place = "blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
    try DurableFile.write(Array("0ne".utf8), to: "\(site.data)/\(place)")
    let backup = site.scratch.path + "/backup"
    let saved = try site.run("backup", "--data", site.data, "--to", backup)
    let url = "publish again: \(Site.base)/a.js (shop online, bundle main)"
    #expect(saved.exitCode == 1 && saved.errors.contains(url), "\(saved.errors)")
    #expect(saved.output.contains("1 file copied"))
    let restored = site.scratch.path + "/restored"
    let outcome = try Outcome(try site.start(["restore", "--from-backup", backup, "--data", restored]))
    #expect(outcome.exitCode == 1 && outcome.errors.contains(url), "\(outcome.errors)")
    #expect(
      outcome.output.contains("xcache serve") && access("\(restored)/\(place)", F_OK) != 0)
    site.server.signal(SIGTERM)
    #expect(try site.server.wait() == 0)
    Scratch.remove(site.data)
    #expect(rename(restored, site.data) == 0)
    try site.start()
    #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).status == 500)
    #expect(try site.web.ask(Site.path(of: site.entry("b.js"))).text == "two")
    #expect(try Self.run(site, "status").output.contains("DAMAGED    \(Site.base)/a.js: publish bundle main"))
    try site.publish(["a.js": "one", "b.js": "two"])
    #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).text == "one")
    #expect(try !Self.run(site, "status").output.contains("DAMAGED"))
    #expect(try site.run("serve", "--data", site.data, "--scrub", "soon").exitCode == 2)
    try site.stop()
  }

  /// The damage was made while the origin runs, which believes that the file is good.
  @Test("publish --rehash makes the origin verify its files, and sends damaged ones again")
  func rehash() throws {
    try Site.with { site in
      let files: Files = ["a.js": "one", "b.js": "two"]
      try site.publish(files)
      let digest = SHA256.of(Array("one".utf8)).hex
      let path = "\(site.data)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
      try DurableFile.write(Array("0ne".utf8), to: path)
      let doctor = try site.run("doctor", "--deep", "--data", site.data)
      #expect(doctor.exitCode == 1 && doctor.output.contains("publish it again with --rehash"))
      #expect(try site.publish(files)["uploaded"]?.integer == 0)
      let healed = try site.publish(files, "--rehash")
      #expect(healed["uploaded"]?.integer == 1 && healed["changed"]?.bool == false, "\(healed)")
      #expect(try DurableFile.read(path) == Array("one".utf8))
      #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).text == "one")
      #expect(try site.run("doctor", "--deep", "--data", site.data).exitCode == 0)
      #expect(try site.publish(files, "--rehash")["uploaded"]?.integer == 0)
      // A new version that keeps the damaged file.
      try DurableFile.write(Array("0ne".utf8), to: path)
      #expect(try site.publish(["a.js": "one", "b.js": "three"], "--rehash")["uploaded"]?.integer == 2)
      #expect(try site.web.ask(Site.path(of: site.entry("a.js"))).text == "one")
    }
  }

  @Test("doctor names damaged and missing files, and exits with 1", arguments: [true, false])
  func doctor(isRemoved: Bool) throws {
    try Site.with { site in
      try site.publish(["a.js": "one", "b.js": "two"])
      #expect(try site.run("doctor", "--deep", "--data", site.data).exitCode == 0)
      let digest = SHA256.of(Array("one".utf8)).hex
      let path = "\(site.data)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
      try Kernel.remove(path)
      if !isRemoved { try DurableFile.write(Array("0ne".utf8), to: path) }
      let outcome = try site.run("doctor", "--deep", "--data", site.data)
      #expect(outcome.exitCode == 1 && outcome.output.contains(path), "\(outcome.output)")
      #expect(outcome.output.contains("from a backup"))
      #expect(
        try site.run("doctor", "--data", site.scratch.path + "/none").errors.contains(
          "is not an xcache data folder"))
    }
  }

  @Test("A device reports a file that it can't get once, and status shows the report")
  func report() throws {
    try Site.with { site in
      try site.publish(["a.js": "one", "b.js": "two"])
      let digest = SHA256.of(Array("one".utf8)).hex
      let path = "\(site.data)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
      try Kernel.remove(path)
      try DurableFile.write(Array("0ne".utf8), to: path)
      let words = ["pull", "--to", site.scratch.path + "/device", "--app", "shop", "--force"]
      #expect(try Outcome(try site.start(words)).exitCode == 1)
      // Counts are written every ten seconds.
      var failures: [JSONValue] = []
      #expect(
        try Wait.until(60) {
          failures = try site.api("GET", "apps/shop/channels/online/adoption").json["failures"]?.array ?? []
          return !failures.isEmpty
        })
      #expect(
        failures.first?["url"]?.string == "\(Site.base)/a.js" && failures.first?["version"]?.string == "1")
      #expect(failures.first?["reason"]?.string == "download" && failures.first?["failures"]?.integer == 1)
      #expect(
        try Self.run(site, "status").output.contains("version 1: 1 × download\n    1 × \(Site.base)/a.js\n"))
    }
  }
}
