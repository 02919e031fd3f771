import System
import Testing
import TestSupport
import Values

@Suite("Routes of single-page apps")
struct RouteTests {
  private static let page =
    "<!doctype html><meta charset=utf-8><script type=module src=/shop/assets/app.js></script>"
  private static let router = "history.pushState({},'','/shop/runs');addEventListener('popstate',draw)"

  /// Writes the working directory of a CI job.
  private static func write(
    _ site: Site, _ fallback: String = #"[{"prefix": "/shop/", "page": "/shop/index.html"}]"#,
    page: String = page
  ) throws {
    try site.scratch.folder("dist", ["index.html": page, "assets/app.js": router])
    try site.scratch.write(
      "xcache.json",
      """
      {"app": "shop", "bundles": {"main": {"baseURL": "\(Site.base)", "dirs": ["dist"], "fallback": \(fallback)}}}
      """)
  }

  private static func fallback(_ site: Site, _ path: String = "index.html") throws -> JSONValue? {
    try site.entry(path)?["fallback"]
  }

  @Test("A changed fallback is a release without a download; rollback and promotion restore it")
  func lifeCycle() throws {
    try Site.with { site in
      try Self.write(site)
      let first = try site.run("publish", "--create", "--now")
      #expect(first.exitCode == 0, "\(first.errors)")
      #expect(try Self.fallback(site) == [["prefix": "/shop/"]])
      #expect(try Self.fallback(site, "assets/app.js") == nil)
      try site.pull("device")
      // With the cache, and without it.
      #expect(try site.run("publish", "--create", "--now").output.contains("nothing changed"))
      Scratch.remove(site.scratch.path + "/cache")
      #expect(try site.run("publish", "--create", "--now").output.contains("nothing changed"))

      let except =
        #"[{"prefix": "\#(Site.base)/", "page": "\#(Site.base)/index.html", "except": ["/shop/api/*"]}]"#
      try Self.write(site, except)
      let second = try Outcome(site.start(["publish", "--create", "--now", "--json"]))
      #expect(try JSONValue.parse(Array(second.output.utf8))["counts"]?["changed"]?.integer == 1)
      #expect(try Self.fallback(site) == [["except": ["/shop/api/*"], "prefix": "/shop/"]])
      #expect(try site.entry("index.html")?["version"]?.string == "2")
      let update = try site.pull("device")
      #expect(update["update"]?["kind"]?.string == "patch" && update["update"]?["fetched"]?.integer == 0)
      let diff = try site.run("diff", "1", "2", "--app", "shop").output
      #expect(diff.contains("(the same bytes, another fallback)"), "\(diff)")
      #expect(diff.hasSuffix("+0 ~1 −0, 0 B new\n"), "\(diff)")
      let show = try site.run("show", "2", "--app", "shop").output
      #expect(show.contains("changes   +0 ~1 −0, 0 B new"), "\(show)")
      #expect(
        show.contains("routes    main: \(Site.base)/index.html answers below /shop/, except /shop/api/*"),
        "\(show)")
      #expect(try site.run("publish", "--create", "--now").output.contains("nothing changed"))

      #expect(
        try site.run("rollback", "--app", "shop", "--all-bundles", "--steps", "1", "--now").exitCode == 0)
      #expect(try Self.fallback(site) == [["prefix": "/shop/"]])
      #expect(try site.entry("index.html")?["version"]?.string == "1")
      #expect(try site.run("channel", "create", "--app", "shop", "--channel", "test").exitCode == 0)
      let promoted = try site.run("promote", "--app", "shop", "--from", "online", "--to", "test", "--create")
      #expect(promoted.exitCode == 0, "\(promoted.errors)")
      let map = try site.poll("channel=test")["data"]?["resourcemap"]
      #expect(map?["\(Site.base)/index.html"]?["fallback"] == (try Self.fallback(site)))
      #expect(try site.run("doctor", "--data", site.data, "--deep").exitCode == 0)

      try Self.write(site, "[]")
      #expect(try site.run("publish", "--now").exitCode == 0)
      #expect(try site.entry("index.html") != nil && Self.fallback(site) == nil)
    }
  }

  @Test(
    "check and publish report a fallback that can't be one with its place in xcache.json",
    arguments: [
      (
        #"[{"prefix": "/shop", "page": "/shop/index.html"}]"#,
        "item 1 / prefix: \"/shop\" is not a path that begins and ends"
      ),
      (
        #"[{"prefix": "/shop/", "page": "/shop/"}]"#,
        "item 1 / page: bundle main has no \(Site.base)/; did you mean"
      ),
      (
        #"[{"prefix": "/shop/", "page": "/shop/assets/app.js"}]"#,
        "item 1 / page: \(Site.base)/assets/app.js has the type"
      ),
      (
        #"[{"prefix": "https://x.example.com/", "page": "/shop/index.html"}]"#,
        "item 1 / prefix should be of the page's host"
      ),
    ])
  func mistakes(_ fallback: String, _ words: String) throws {
    try Site.with { site in
      try Self.write(site, fallback)
      for command in ["check", "publish"] {
        let outcome = try site.run(command)
        #expect(outcome.exitCode == 2, "\(outcome.errors)")
        #expect(
          outcome.errors.contains("xcache.json: bundles / main / fallback / \(words)"), "\(outcome.errors)")
      }
      let json = try site.run("publish", "--json")
      #expect(try JSONValue.parse(Array(json.output.utf8))["code"]?.string == "settings")
    }
  }

  @Test("A fallback page with relative URLs is refused with what breaks, and at which route") func relative()
    throws
  {
    try Site.with { site in
      try Self.write(
        site, page: "<!doctype html><meta charset=utf-8>\n<script type=module src=./assets/app.js></script>")
      let refused = try site.run("publish", "--create", "--now")
      #expect(refused.exitCode == 3, "\(refused.errors)")
      #expect(
        refused.errors.contains(
          "/index.html:2:25: error: the script ./assets/app.js is relative to the address of the page, which is the "
            + "fallback of \(Site.base)/a/b, too: there it is \(Site.base)/a/assets/app.js, which is not in the bundle"
        ),
        "\(refused.errors)")
      // Also if only the folder is named, and not if it gets other URLs.
      let folder = try site.run("check", "dist")
      #expect(folder.exitCode == 3 && folder.output.contains("[route]"), "\(folder.output)\(folder.errors)")
      let moved = try site.run("check", "dist", "--base-url", "https://other.example.com/x/")
      #expect(moved.exitCode == 0, "\(moved.output)\(moved.errors)")
      let released = try site.run("publish", "--create", "--now", "--no-check", "route")
      #expect(released.exitCode == 0, "\(released.errors)")
    }
  }

  @Test("init proposes a fallback that check and publish accept, also where the page's URLs are relative")
  func proposed() throws {
    try Site.with { site in
      for (page, except) in [
        (Self.page, ["/shop/api/*", "/shop/*.*"]),
        (Self.page.replacing("=/shop/", with: "=./"), ["/shop/api/*", "/shop/*.*", "/shop/*/*"]),
      ] {
        try site.scratch.folder(
          "dist", ["index.html": page, "assets/app.js": Self.router, "assets/app.js.map": "{}"])
        let made = try site.run("init", "--app", "shop", "--dir", "dist", "--base-url", Site.base, "--force")
        #expect(made.exitCode == 0, "\(made.errors)")
        #expect(
          made.errors.contains(
            "/shop/index.html answers the routes below /shop/, too, because assets/app.js sets the path"),
          "\(made.errors)")
        #expect(made.errors.contains("Only routes of one part") == (except.count == 3), "\(made.errors)")
        let checked = try site.run("check")
        #expect(
          checked.exitCode == 0 && checked.output.hasPrefix("0 errors, 0 warnings"), "\(checked.output)")
        #expect(try site.run("publish", "--create", "--now").exitCode == 0)
        #expect(try Self.fallback(site) == [["except": .strings(except), "prefix": "/shop/"]])
        #expect(try site.run("publish", "--now").output.contains("nothing changed"))
      }
      // Two pages that load the router are no single-page app.
      try site.scratch.write("dist/about.html", Self.page)
      let made = try site.run("init", "--app", "shop", "--dir", "dist", "--base-url", Site.base, "--force")
      #expect(made.exitCode == 0 && !made.errors.contains("answers the routes"), "\(made.errors)")
    }
  }

  @Test("Mirrors, backups and restored origins keep the fallbacks") func copies() throws {
    try Site.with { site in
      try Self.write(site)
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      try Self.write(site, "[]")
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      try site.checkCopies()
    }
  }
}
