import Glibc
import System
import Testing
import Values

/// `xcache preview` and `publish --smoke` against an origin, with a stand-in for the engine.
@Suite("Pages of a release") struct PreviewTests {
  /// Runs a command with the engine's stand-in.
  private static func run(_ site: Site, _ words: [String], mode: String = "") throws -> Outcome {
    let scratch = site.scratch
    for name in ["tmp", "notes"] { try Kernel.makeFolder("\(scratch.path)/\(name)") }
    let environment = [
      "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": scratch.path, "XDG_CACHE_HOME": scratch.path + "/cache",
      "TMPDIR": scratch.path + "/tmp", "SWIFT_BACKTRACE": "enable=no", "XCACHE_SERVER": site.url,
      "XCACHE_TOKEN": site.token, "XCACHE_APP": "shop", "XCACHE_WEBKIT": SmokeTests.engine,
      "XCACHE_WEBKIT_MODE": mode, "XCACHE_WEBKIT_NOTES": scratch.path + "/notes",
    ]
    let outcome = try Outcome(try Child([Binary.path] + words, environment: environment, in: scratch.path))
    #expect(try Folder.textNames(scratch.path + "/tmp") == [], "\(words)")
    for name in (try? Folder.textNames(scratch.path + "/notes")) ?? [] {
      let note = String(decoding: try DurableFile.read("\(scratch.path)/notes/\(name)") ?? [], as: UTF8.self)
      #expect(!note.contains(site.token), "\(name) has the token")
    }
    return outcome
  }

  private static func settings(_ site: Site) throws -> JSONValue {
    try JSONValue.parse(try DurableFile.read(site.scratch.path + "/notes/settings") ?? [])
  }

  private static let page = "\(Site.base)/index.html"

  @Test("A page of the newest version, of an older one, of a time and of another channel") func versions()
    throws
  {
    try Site.with { site in
      for channel in ["online", "test"] {
        try site.publish(
          [
            "index.html": "<!doctype html><title>\(channel) 1</title><body>x<script src=a.js></script>",
            "a.js": "1",
          ],
          "--channel", channel)
      }
      try site.publish(
        ["index.html": "<!doctype html><title>two</title><body>x<script src=a.js></script>"], "--no-check",
        "all")

      let newest = try Self.run(site, ["preview", Self.page, "--screenshot", "page.png"])
      #expect(newest.exitCode == 0, "\(newest.errors)")
      for words in [
        "\(Self.page)  version 2 of shop online", "title      two", "device     1 request",
        "network    1 request",
        "picture    page.png", "engine     Stand-in 1.0", "12 ms to the first content",
      ] {
        #expect(newest.output.contains(words), "\(newest.output)")
      }
      let screenshot = try DurableFile.read(site.scratch.path + "/page.png") ?? []
      #expect(screenshot.starts(with: [0x89, 0x50, 0x4e, 0x47]))
      let settings = try Self.settings(site)
      #expect(settings["confined"]?.bool == false && settings["channel"]?.string == "online")
      #expect(settings["server"]?.string == site.url && settings["hosts"]?.array == ["m.example.com"])

      let old = try Self.run(site, ["preview", Self.page, "--version", "1", "--offline", "--json"])
      let document = try JSONValue.parse(Array(old.output.utf8))
      #expect(
        document["version"]?.string == "1" && document["page"]?["title"]?.string == "online 1",
        "\(old.output)\(old.errors)")
      #expect(document["isInRelease"]?.bool == true && document["screenshot"]?.isNull == true)
      #expect(try Self.settings(site)["offline"]?.bool == true)
      let now = try Self.run(site, ["preview", Self.page, "--at", "now", "--json"])
      #expect(try JSONValue.parse(Array(now.output.utf8))["page"]?["title"]?.string == "two", "\(now.errors)")
      let other = try Self.run(
        site, ["preview", Self.page, "--channel", "test", "--network", "3g", "--json"])
      #expect(
        try JSONValue.parse(Array(other.output.utf8))["page"]?["title"]?.string == "test 1", "\(other.errors)"
      )
      #expect(try Self.settings(site)["network"]?["kilobitsPerSecond"]?.integer == 1600)

      #expect(try Self.run(site, ["policy", "kill", "--message", "outage"]).exitCode == 0)
      let killed = try Self.run(site, ["preview", Self.page])
      #expect(killed.output.contains("policy     the kill switch is on"), "\(killed.output)\(killed.errors)")

      let gone = try Self.run(site, ["preview", "https://m.example.com/gone.html", "--offline", "--json"])
      let problem = try JSONValue.parse(Array(gone.output.utf8))
      #expect(gone.exitCode == 1 && problem["code"]?.string == "page-failed", "\(gone.output)")
      #expect(
        problem["isInRelease"]?.bool == false && problem["page"]?["failure"]?.string == "the page isn't there"
      )
    }
  }

  @Test("A rollout's candidate can be previewed before all devices have it") func candidate() throws {
    try Site.with { site in
      func publish(_ title: String, _ more: String...) throws {
        let folder = try site.scratch.folder(
          "build", ["index.html": "<!doctype html><title>\(title)</title><body>x"])
        let words = [
          "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
          "--now",
        ]
        #expect(try Outcome(try site.start(words + more)).exitCode == 0)
      }
      try publish("full")
      // Nearly every device is in, and the one of a preview isn't.
      try publish("candidate", "--rollout", "99%")
      for (words, title) in [
        ([], "full"), (["--version", "1"], "full"), (["--version", "2"], "candidate"),
        (["--at", "now"], "full"),
      ] {
        let shown = try Self.run(site, ["preview", Self.page, "--offline", "--json"] + words)
        let document = try JSONValue.parse(Array(shown.output.utf8))
        #expect(document["page"]?["title"]?.string == title, "\(words): \(shown.output)\(shown.errors)")
      }
      let both = try Self.run(site, ["preview", Self.page, "--compare", "1", "2", "--offline", "--json"])
      let titles = try JSONValue.parse(Array(both.output.utf8))["compared"]?.array?.map {
        $0["page"]?["title"]?.string
      }
      #expect(titles == ["full", "candidate"], "\(both.output)\(both.errors)")
    }
  }

  @Test("A preview isn't counted as a device's poll") func previewsAreNotPolls() throws {
    try Site.with { site in
      try site.publish(["index.html": "<!doctype html><body>x"])
      func polls() throws -> Int64? {
        // Reading the adoption charts flushes the counters first.
        #expect(try site.run("status", "--app", "shop", "--json").exitCode == 0)
        let path = "/api/v1/apps/shop/channels/online/adoption"
        let answer = try site.web.ask(path, "GET", ["Authorization": "Bearer \(site.token)"])
        return try JSONValue.parse(Array(answer.text.utf8))["hour"]?["polls"]?.integer
      }
      #expect(try Self.run(site, ["preview", Self.page]).exitCode == 0)
      #expect(try Self.run(site, ["preview", Self.page, "--version", "1"]).exitCode == 0)
      #expect(try polls() == 0)
      #expect(try site.web.ask("/configure.json?app=shop").status == 200)
      #expect(try polls() == 1)
    }
  }

  @Test("The address of a folder that isn't listed suggests publish --index, where that is the cause")
  func folders()
    throws
  {
    try Site.with { site in
      try site.publish([
        "index.html": "<!doctype html><body>x", "help/index.html": "<!doctype html><body>x",
      ])
      for (address, hint) in [
        ("\(Site.base)/", "\(Site.base)/"), ("\(Site.base)", "\(Site.base)/"),
        ("\(Site.base)/help/?from=mail", "\(Site.base)/help/"), ("\(Site.base)/gone/", nil),
      ] {
        let plain = try Self.run(site, ["preview", address, "--offline"])
        let words =
          hint.map {
            "listed     no: the release has \($0)index.html, but not the folder's address; `xcache publish --index` lists "
              + "it as \($0), too\n"
          } ?? "listed     no: the release has no such page\n"
        #expect(plain.exitCode == 1 && plain.output.contains(words), "\(plain.output)\(plain.errors)")
        let json = try Self.run(site, ["preview", address, "--offline", "--json"])
        let problem = try JSONValue.parse(Array(json.output.utf8))
        #expect(problem["detail"]?.string?.contains("--index") == (hint != nil), "\(json.output)")
        #expect((problem["hint"]?.string != nil) == (hint != nil) && problem["isInRelease"]?.bool == false)
      }
      try site.publish(
        ["help/index.html": "<!doctype html><body>x"], as: "help", base: "https://m.example.com/help",
        "--index")
      let slash = try Self.run(site, ["preview", "https://m.example.com/help/help", "--offline"])
      #expect(
        slash.output.contains("the release has https://m.example.com/help/help/, with a slash"),
        "\(slash.output)")
    }
  }

  @Test("Two versions side by side, each with its screenshot") func compared() throws {
    try Site.with { site in
      try site.publish([
        "index.html": "<!doctype html><title>1</title><body>x<script src=a.js></script>", "a.js": "1",
      ])
      try site.publish(
        ["index.html": "<!doctype html><title>2</title><body>x<script>throw \"broken\"</script>"])
      for words in [
        ["preview", Self.page, "--compare", "1", "2", "--screenshot", "page.png"],
        ["preview", "--compare", "1", Self.page, "--screenshot", "page.png"],
      ] {
        let outcome = try Self.run(site, words)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.first == "\(Self.page)  versions 1 and 2 of shop online", "\(outcome.output)")
        for line in [
          "requests, device   2 1", "script errors      0 1", "picture            page.1.png page.2.png",
        ] {
          let words = line.split(separator: " ")
          #expect(lines.contains { $0.split(separator: " ") == words }, "\(line) isn't in \(outcome.output)")
        }
        #expect(outcome.output.contains("version 2:\n  \(Self.page):7:5: script error: broken"))
        for version in 1...2 {
          #expect(try Kernel.status("\(site.scratch.path)/page.\(version).png") != nil)
          try Kernel.remove("\(site.scratch.path)/page.\(version).png")
        }
      }
      let json = try JSONValue.parse(
        Array(try Self.run(site, ["preview", Self.page, "--compare", "1", "--json"]).output.utf8))
      #expect(json["compared"]?.array?.map { $0["page"]?["title"]?.string } == ["1", "2"])
    }
  }

  @Test("publish --smoke releases nothing if a page fails, also as a dry run; otherwise it releases")
  func publish() throws {
    try Site.with { site in
      let broken = "<!doctype html><body>x<script>throw \"broken\"</script>"
      let words = [
        "publish", "--create", "dist", "--bundle", "main", "--base-url", Site.base, "--now", "--smoke",
      ]
      try site.scratch.folder("dist", ["index.html": broken])
      for more in [[], ["--dry-run"], ["--dry-run", "--no-upload"]] {
        let outcome = try Self.run(site, words + more)
        #expect(outcome.exitCode == 3 && outcome.output.isEmpty, "\(outcome.output)")
        #expect(outcome.errors.contains("index.html:7:5: error: broken [script]"), "\(outcome.errors)")
        #expect(outcome.errors.contains("smoke test: 1 of 1 page failed: 1 error"))
        #expect(outcome.errors.contains("nothing was published"))
      }
      let refused = try Self.run(site, words + ["--json"])
      #expect(try JSONValue.parse(Array(refused.output.utf8))["code"]?.string == "smoke", "\(refused.output)")
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)
      let died = try Self.run(site, words, mode: "die-first")
      #expect(died.exitCode == 1 && died.errors.contains("exited before it was ready"), "\(died.errors)")
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)

      try site.scratch.folder("dist", ["index.html": "<!doctype html><body>fine"])
      let released = try Self.run(site, words + ["--json"])
      let document = try JSONValue.parse(Array(released.output.utf8))
      #expect(released.exitCode == 0, "\(released.errors)")
      #expect(
        document["smoke"]?["errors"]?.integer == 0 && document["version"]?.string == "1", "\(released.output)"
      )

      // What people look at in the console goes along with the release.
      #expect(released.errors.contains("kept pictures of 1 page with version 1"), "\(released.errors)")
      let pictures = try site.api("GET", "apps/shop/channels/online/releases/1/pictures").json["pictures"]?
        .array
      #expect(
        pictures?.map { $0["page"]?.string } == ["\(Site.base)/index.html"], "\(String(describing: pictures))"
      )
      let picture = try site.web.ask(
        pictures?.first?["href"]?.string ?? "/", "GET", ["Authorization": "Bearer \(site.token)"])
      #expect(picture.status == 200 && picture["content-type"] == "image/png")

      // This fails before the engine starts, which would write a note.
      let note = site.scratch.path + "/notes/pid"
      try Kernel.remove(note)
      try #require(
        try site.run("channel", "create", "--app", "shop", "--channel", "sale").exitCode == 0
          && site.run("channel", "freeze", "--app", "shop", "--channel", "sale", "--reason", "the sale")
            .exitCode
            == 0
      )
      for more in [[], ["--smoke"]] {
        let frozen = try Self.run(
          site,
          ["publish", "--create", "dist", "--bundle", "main", "--base-url", Site.base, "--channel", "sale"]
            + more)
        #expect(frozen.exitCode == 3 && frozen.errors.contains("--break-glass"), "\(frozen.errors)")
      }
      #expect(try Kernel.status(note) == nil, "a page was opened")
    }
  }

  @Test("A smoke test uses the live files of other bundles, but not those that the release replaces")
  func others() throws {
    try Site.with(["--public-url", "https://cdn.example.com/x"]) { site in
      try site.publish(["vendor.js": "1"], as: "common", base: "https://m.example.com/common")
      try site.publish(["index.html": "<!doctype html><body>x", "old.js": "1"])
      let words = [
        "publish", "--create", "dist", "--bundle", "main", "--base-url", Site.base, "--now", "--smoke",
        "--no-check",
        "all",
      ]
      try site.scratch.folder(
        "dist", ["index.html": "<!doctype html><body>x<script src=/common/vendor.js></script>"])
      let fine = try Self.run(site, words + ["--json"])
      #expect(fine.exitCode == 0, "\(fine.output)\(fine.errors)")
      let pages = try JSONValue.parse(Array(fine.output.utf8))["smoke"]?["pages"]?.array
      let sources = pages?.first?["requests"]?.array?.map { $0["source"]?.string }
      #expect(sources == ["device", "device"], "\(fine.output)")
      try site.scratch.folder("dist", ["index.html": "<!doctype html><body>x<script src=old.js></script>"])
      let gone = try Self.run(site, words)
      #expect(
        gone.exitCode == 3 && gone.errors.contains("script \(Site.base)/old.js isn't in the build"),
        "\(gone.errors)")
    }
  }
}
