import System
import Testing
import TestSupport
import Values

@Suite("Lazy files")
struct LazyTests {
  private static let page = "<!doctype html><meta charset=utf-8><script src=/shop/app.js></script>"

  /// Writes the working directory of a CI job.
  private static func write(_ site: Site, _ lazy: String = #"["locales/*.json"]"#, locale: String = "{}")
    throws
  {
    try site.scratch.folder(
      "dist", ["index.html": page, "app.js": "draw()", "locales/de.json": locale, "locales/fr.json": "[]"])
    try site.scratch.write(
      "xcache.json",
      """
      {"app": "shop", "bundles": {"main": {"baseURL": "\(Site.base)", "dirs": ["dist"], "lazy": \(lazy)}}}
      """)
  }

  private static func isLazy(_ site: Site, _ path: String = "locales/de.json") throws -> Bool? {
    try site.entry(path).map { $0["lazy"]?.bool ?? false }
  }

  @Test("A file that becomes lazy is a release without a download; rollback and promotion restore it")
  func lifeCycle() throws {
    try Site.with { site in
      try Self.write(site, "[]")
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      #expect(try Self.isLazy(site) == false)
      try Self.write(site)
      let second = try site.run("publish", "--now", "--json")
      #expect(second.exitCode == 0, "\(second.errors)")
      #expect(try JSONValue.parse(Array(second.output.utf8))["counts"]?["changed"]?.integer == 2)
      #expect(try Self.isLazy(site) == true && Self.isLazy(site, "app.js") == false)
      #expect(try site.entry("locales/de.json")?["version"]?.string == "2")
      // With the cache, and without it.
      #expect(try site.run("publish", "--now").output.contains("nothing changed"))
      Scratch.remove(site.scratch.path + "/cache")
      #expect(try site.run("publish", "--now").output.contains("nothing changed"))
      let diff = try site.run("diff", "1", "2", "--app", "shop").output
      #expect(diff.contains("(the same bytes, lazy now)"), "\(diff)")
      let shown = try site.run("show", "2", "--app", "shop").output
      #expect(
        shown.contains("holds     4 resources, ") && shown.contains(", 2 of them (4 B) lazy"), "\(shown)")

      #expect(
        try site.run("rollback", "--app", "shop", "--all-bundles", "--steps", "1", "--now").exitCode == 0)
      #expect(try Self.isLazy(site) == false && site.entry("locales/de.json")?["version"]?.string == "1")
      #expect(try site.run("publish", "--now").exitCode == 0)
      #expect(try site.run("channel", "create", "--app", "shop", "--channel", "test").exitCode == 0)
      let promoted = try site.run("promote", "--app", "shop", "--from", "online", "--to", "test", "--create")
      #expect(promoted.exitCode == 0, "\(promoted.errors)")
      let map = try site.poll("channel=test")["data"]?["resourcemap"]
      #expect(map?["\(Site.base)/locales/de.json"]?["lazy"]?.bool == true)
      #expect(try site.run("doctor", "--data", site.data, "--deep").exitCode == 0)
    }
  }

  @Test("A publish by hand says that it drops what is lazy, and which page answers routes") func dropped()
    throws
  {
    try Site.with { site in
      let fallback = #"[{"prefix": "/shop/", "page": "/shop/index.html"}]"#
      try Self.write(site, #"["locales/*.json"], "fallback": \#(fallback)"#)
      let first = try site.run("publish", "--create", "--now")
      #expect(first.exitCode == 0 && !first.errors.contains("no longer lazy"), "\(first.errors)")
      try Kernel.remove(site.scratch.path + "/xcache.json")
      let byHand = ["publish", "dist", "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now"]
      for more in [["--dry-run"], []] {
        let outcome = try Outcome(site.start(byHand + more))
        #expect(outcome.exitCode == 0)
        #expect(
          outcome.errors.contains(
            "warning: bundle main: 2 files are no longer lazy, and \(Site.base)/index.html answers no routes any more; "
              + "was xcache.json left out?"), "\(outcome.errors)")
      }
      let again = try Outcome(site.start(byHand))
      #expect(again.exitCode == 0 && !again.errors.contains("no longer"), "\(again.errors)")
    }
  }

  @Test("publish, also as a dry run, and diff say what devices download, and what is lazy") func sizes()
    throws
  {
    try Site.with { site in
      try Self.write(site)
      for more in [["--dry-run"], []] {
        let made = try Outcome(site.start(["publish", "--create"] + more))
        #expect(made.exitCode == 0, "\(made.errors)")
        let line = made.output.split(separator: "\n").first { $0.hasPrefix("new devices download ") }
        #expect(
          line?.hasSuffix(" in 3 requests, 2 files; 2 lazy files (4 B) when pages ask for them") == true,
          "\(made.output)")
      }
      try Self.write(site, locale: "{ }")
      let json = try site.run("publish", "--dry-run", "--json")
      let cost = try JSONValue.parse(Array(json.output.utf8))["deltas"]?["cost"]
      #expect(cost?["new"]?["files"]?.integer == 2, "\(json.output)")
      #expect(cost?["new"]?["lazy"] == ["bytes": 5, "files": 2])
      #expect(cost?["last1"]?["files"]?.integer == 0 && cost?["last1"]?["lazy"] == ["bytes": 3, "files": 1])
      #expect(try site.run("publish").exitCode == 0)
      let diff = try site.run("diff", "1", "2", "--app", "shop").output
      #expect(
        diff.contains(", lazy\n") && diff.contains("; 1 lazy file (3 B) when pages ask for it"), "\(diff)")
      let first = try site.run("diff", "0", "2", "--app", "shop").output
      #expect(
        first.contains(" in 3 requests, 2 files; 2 lazy files (5 B) when pages ask for them"), "\(first)")
    }
  }

  @Test("Updates are packs without the lazy files, at the copy, too; who doesn't know of them gets the patch")
  func packs() throws {
    try Site.with { site in
      try Self.write(site)
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      let pull = ["pull", "--to", "device", "--app", "shop", "--force", "--json"]
      #expect(try Outcome(site.start(pull)).exitCode == 0)
      try Self.write(site, locale: "{ }")
      try site.scratch.write("dist/app.js", "draw(2)")
      #expect(try site.run("publish", "--now").exitCode == 0)
      let asked = "version=1&patch=1&pack=1"
      let old = try site.poll(asked)["data"]
      #expect(old?["pack"] == nil && (old?["patch"] ?? old?["resourcemap"]) != nil)
      #expect(try site.poll(asked + "&lazy=1")["data"]?["pack"] != nil)
      let pulled = try Outcome(site.start(pull))
      let update = try JSONValue.parse(Array(pulled.output.utf8))["update"]
      #expect(update?["kind"]?.string == "pack" && update?["fetched"]?.integer == 1, "\(pulled.output)")
      #expect(update?["missing"]?.integer == 0)
      try site.mirror("--to", "www")
      let files = try site.mirrored("www")
      let pack = try #require(files.first { $0.key.hasSuffix(".xpk") && $0.key.contains("/1-2-") })
      #expect(pack.value.starts(with: Array("XPK2".utf8)))
      #expect(files["xcache/shop/update/1-2.json"] != nil && files["xcache/shop/patch/1-2.json"] != nil)
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
    }
  }

  @Test("check and publish refuse patterns that match pages, and warn of those that match nothing")
  func mistakes()
    throws
  {
    try Site.with { site in
      try Self.write(site, #"["*.html"]"#)
      for command in ["check", "publish"] {
        let outcome = try site.run(command)
        #expect(outcome.exitCode == 2, "\(outcome.errors)")
        #expect(
          outcome.errors.contains(
            "xcache.json: bundles / main / lazy: \"*.html\" matches index.html, a page of bundle main; pages can't be lazy"
          ),
          "\(outcome.errors)")
      }
      let json = try site.run("publish", "--json")
      #expect(try JSONValue.parse(Array(json.output.utf8))["code"]?.string == "settings")
      try Self.write(site, #"["*.txt", "app.js", "*.map"]"#)
      let checked = try site.run("check")
      #expect(checked.exitCode == 0)
      #expect(
        checked.output.contains("lazy: the pattern \"*.txt\" matches no published file")
          && checked.output.contains("warning: the script /shop/app.js is lazy")
          && checked.output.contains("0 errors, 2 warnings"),
        "\(checked.output)")
    }
  }

  @Test("init proposes patterns that check and publish accept") func proposed() throws {
    try Site.with { site in
      let locales = ["de", "en", "fr", "it", "pt-BR"].map { ("locales/\($0).json", "{}") }
      let fonts = [("a.woff2", "2"), ("a.ttf", "t"), ("app.js.map", "{}")]
      try site.scratch.folder(
        "dist",
        ["index.html": Self.page, "app.js": "1"].merging(locales + fonts) { $1 })
      let made = try site.run("init", "--app", "shop", "--dir", "dist", "--base-url", Site.base)
      #expect(made.exitCode == 0, "\(made.errors)")
      #expect(
        made.errors.contains("devices fetch *.ttf, locales/*.json when a page asks for them")
          && made.errors.contains("source maps aren't published; "),
        "\(made.errors)")
      let checked = try site.run("check")
      #expect(checked.exitCode == 0 && checked.output.hasPrefix("0 errors, 0 warnings"), "\(checked.output)")
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      #expect(try Self.isLazy(site) == true && Self.isLazy(site, "a.ttf") == true)
      #expect(try Self.isLazy(site, "a.woff2") == false && Self.isLazy(site, "app.js.map") == nil)
    }
  }

  @Test("Mirrors, backups and restored origins keep what is lazy") func copies() throws {
    try Site.with { site in
      try Self.write(site)
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      try Self.write(site, "[]")
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      try site.checkCopies()
    }
  }
}
