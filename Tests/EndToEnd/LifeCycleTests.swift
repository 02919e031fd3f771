import System
import Testing
import TestSupport
import Values

@Suite("From the first publish to unpublish")
struct LifeCycleTests {
  static let first: Files = ["index.html": "<p>one", "app.js": "one()", "img/logo.svg": "<svg/>"]
  static let second: Files = ["index.html": "<p>two", "app.js": "one()", "img/new.svg": "<svg></svg>"]

  @Test("A device follows two versions and the removal of a bundle")
  func oneBundle() throws {
    try Site.with { site throws in
      let one = try site.publish(Self.first)
      #expect(one["version"]?.string == "1")
      #expect(one["createdApp"]?.bool == true)
      #expect(one["added"]?.integer == 3)
      let pulled = try site.pull("device", "--tree", Site.base)
      #expect(pulled["update"]?["kind"]?.string == "whole")
      #expect(try site.tree(of: "device").texts == Self.first)

      let two = try site.publish(Self.second)
      #expect(two["version"]?.string == "2")
      #expect([two["added"], two["changed_count"], two["removed"]].map { $0?.integer } == [1, 1, 1])
      #expect(two["uploaded"]?.integer == 2)
      let again = try site.pull("device", "--tree", Site.base)
      #expect(again["update"]?["kind"]?.string == "pack")
      #expect(again["update"]?["fetched"]?.integer == 2)
      #expect(try site.tree(of: "device").texts == Self.second)
      #expect(try site.pull("device")["update"]?["kind"]?.string == "nothing")

      let gone = try site.run("unpublish", "--app", "shop", "--bundle", "main", "--json")
      #expect(gone.exitCode == 0)
      #expect(try site.poll()["data"]?["resourcemap"]?.object?.count == 0)
      try site.pull("device", "--tree", Site.base)
      #expect(try site.tree(of: "device").isEmpty)
    }
  }

  @Test("Restored bytes get their former version and download URL")
  func sameBytesAgain() throws {
    try Site.with { site throws in
      try site.publish(Self.first)
      let before = try site.entry("index.html")
      try site.publish(Self.second)
      #expect(try site.entry("index.html")?["version"]?.string == "2")
      let back = try site.publish(Self.first)
      #expect(back["uploaded"]?.integer == 0)
      #expect(try site.entry("index.html") == before)
    }
  }

  @Test("Several bundles are one release, and removing one keeps the others")
  func severalBundles() throws {
    try Site.with { site throws in
      let a = try site.scratch.folder("a", ["a.js": "a"])
      let b = try site.scratch.folder("b", ["b.js": "b", "more/b.css": "b{}"])
      let both = try site.run(
        "publish", "--create", "--app", "shop", "--bundle", "a=\(a)", "--bundle", "b=\(b)", "--base-url",
        Site.base,
        "-m", "both at once", "--json")
      #expect(both.exitCode == 0, "\(both.errors)")
      let document = try JSONValue.parse(Array(both.output.utf8))
      #expect(document["version"]?.string == "1")
      #expect(document["bundles"]?.array?.count == 2)
      let log = try site.run("log", "--app", "shop", "--json")
      let releases = try JSONValue.parse(Array(log.output.utf8))["releases"]?.array
      #expect(releases?.count == 1)
      #expect(releases?.first?["message"]?.string == "both at once")
      #expect(try site.run("unpublish", "--app", "shop", "--bundle", "a").exitCode == 0)
      let left = try site.poll()["data"]?["resourcemap"]?.object?.members.map(\.key)
      #expect(left == ["\(Site.base)/b.js", "\(Site.base)/more/b.css"])
    }
  }

  @Test("status, log and diff show what happened")
  func history() throws {
    try Site.with { site throws in
      try site.publish(Self.first, "-m", "first")
      try site.publish(Self.second, "-m", "second")
      let status = try site.run("status", "--app", "shop")
      #expect(status.output.contains("version 2"))
      #expect(status.output.contains("3 resources"))
      let log = try site.run("log", "--app", "shop")
      #expect(log.output.contains("+3 ~0 −0") && log.output.contains("+1 ~1 −1"))
      #expect(log.output.contains("first") && log.output.contains("second"))
      let diff = try site.run("diff", "1", "2", "--app", "shop")
      #expect(diff.output.contains("+1 ~1 −1"))
      #expect(diff.output.contains("an update downloads"))
      #expect(diff.output.contains("+ \(Site.base)/img/new.svg"))
      #expect(diff.output.contains("~ \(Site.base)/index.html"))
      #expect(diff.output.contains("− \(Site.base)/img/logo.svg"))
    }
  }

  @Test("Publishing the same files again makes no version", arguments: [[], ["--rehash"]])
  func unchanged(more: [String]) throws {
    try Site.with { site throws in
      try site.publish(Self.first)
      let folder = site.scratch.path + "/site-shop-main"
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
      ]
      let json = try Outcome(try site.start(words + ["--json"] + more))
      #expect(json.exitCode == 0)
      let document = try JSONValue.parse(Array(json.output.utf8))
      #expect(document["changed"]?.bool == false)
      #expect(document["version"]?.string == "1")
      #expect(document["uploaded"]?.integer == 0)
      let plain = try Outcome(try site.start(words + more))
      #expect(plain.output.contains("nothing changed: version 1"))
      #expect(try site.poll("version=1")["data"]?["update"]?.bool == false)
    }
  }

  @Test("A dry run prints what would happen and changes nothing")
  func dryRun() throws {
    try Site.with { site throws in
      let folder = try site.scratch.folder("new", Self.first)
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
        "--dry-run",
      ]
      let first = try Outcome(try site.start(words))
      #expect(first.exitCode == 0)
      #expect(first.output.contains("would create the app") && first.output.contains("+3 ~0 −0"))
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)
      try site.publish(Self.second)
      let next = try Outcome(try site.start(words + ["--json"]))
      let document = try JSONValue.parse(Array(next.output.utf8))
      #expect(document["dryRun"]?.bool == true && document["version"]?.string == "2")
      #expect(
        [document["added"], document["changed_count"], document["removed"]].map { $0?.integer } == [1, 1, 1])
      let removal = try site.run("unpublish", "--app", "shop", "--bundle", "main", "--dry-run")
      #expect(removal.exitCode == 0 && removal.output.contains("−3"))
      #expect(try site.poll()["data"]?["version"]?.string == "1")
    }
  }

  @Test("A folder is published in full to another origin at the same address")
  func anotherOriginAtTheSameAddress() throws {
    let site = try Site()
    try site.publish(["index.html": "<p>one"])
    site.server.signal(15)
    _ = try site.server.wait()
    // Same names, sizes and versions, but other bytes: the cache of the first origin must not be used.
    Scratch.remove(site.data)
    try site.start()
    let file = try DurableFile.read(site.data + "/admin.token")
    let token = String(decoding: file ?? [], as: UTF8.self).filter { !$0.isWhitespace }
    let other = try site.scratch.folder("other", ["index.html": "<p>two"])
    let elsewhere = ["XDG_CACHE_HOME": site.scratch.path + "/elsewhere", "XCACHE_TOKEN": token]
    let words = [
      Binary.path, "publish", "--create", other, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
      "--server",
      site.url,
    ]
    #expect(try Child(words, environment: elsewhere, in: site.scratch.path).wait() == 0)
    try site.publish(["index.html": "<p>one"], token: token)
    #expect(try site.entry("index.html")?["md5"]?.string == MD5.of(Array("<p>one".utf8)).hex)
    try site.stop()
  }
}
