import Manifests
import System
import Testing
import TestSupport
import Values

@Suite("Security headers of pages")
struct HeadersTests {
  private static let policy =
    "default-src 'self'; script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"

  /// Writes the working directory of a CI job.
  private static func write(_ site: Site, frames: String = "DENY") throws {
    try site.scratch.folder(
      "dist", ["index.html": "<p>page", "embed/widget.html": "<p>widget", "app.js": "run()"])
    try site.scratch.write(
      "xcache.json",
      """
      {"app": "shop", "bundles": {"main": {"baseURL": "\(Site.base)", "dirs": ["dist"], "headers": {
        "*.html": {"content-security-policy": "\(policy)", "X-Frame-Options": "\(frames)"},
        "embed/*.html": {"X-Frame-Options": null}}}}}
      """)
  }

  private static func headers(_ site: Site, _ path: String) throws -> JSONValue? {
    try site.entry(path)?["headers"]
  }

  @Test(
    "Changed headers are a release that devices take without a download; rollback and promotion restore them"
  )
  func lifeCycle() throws {
    try Site.with { site in
      try Self.write(site)
      let first = try site.run("publish", "--create", "--now")
      #expect(first.exitCode == 0, "\(first.errors)")
      #expect(
        try Self.headers(site, "index.html")
          == ["Content-Security-Policy": .string(Self.policy), "X-Frame-Options": "DENY"])
      #expect(
        try Self.headers(site, "embed/widget.html") == ["Content-Security-Policy": .string(Self.policy)])
      #expect(try Self.headers(site, "app.js") == nil)
      let download = try site.web.ask(Site.path(of: try site.entry("index.html")))
      #expect(download.status == 200 && download["x-frame-options"] == nil)
      #expect(download["content-security-policy"] != Self.policy)
      try site.pull("device")
      // With the cache, and without it.
      #expect(try site.run("publish", "--create", "--now").output.contains("nothing changed"))
      Scratch.remove(site.scratch.path + "/cache")
      #expect(try site.run("publish", "--create", "--now").output.contains("nothing changed"))

      try Self.write(site, frames: "SAMEORIGIN")
      let second = try Outcome(site.start(["publish", "--create", "--now", "--json"]))
      #expect(try JSONValue.parse(Array(second.output.utf8))["counts"]?["changed"]?.integer == 1)
      #expect(try site.entry("index.html")?["version"]?.string == "2")
      let update = try site.pull("device")
      #expect(update["update"]?["kind"]?.string == "patch" && update["update"]?["fetched"]?.integer == 0)
      let diff = try site.run("diff", "1", "2", "--app", "shop").output
      #expect(diff.contains("index.html  7 B (the same bytes, different headers)"), "\(diff)")

      #expect(
        try site.run("rollback", "--app", "shop", "--all-bundles", "--steps", "1", "--now").exitCode == 0)
      #expect(try Self.headers(site, "index.html")?["X-Frame-Options"] == "DENY")
      #expect(try site.entry("index.html")?["version"]?.string == "1")
      #expect(try site.run("channel", "create", "--app", "shop", "--channel", "test").exitCode == 0)
      let promoted = try site.run("promote", "--app", "shop", "--from", "online", "--to", "test", "--create")
      #expect(promoted.exitCode == 0, "\(promoted.errors)")
      let map = try site.poll("channel=test")["data"]?["resourcemap"]
      #expect(map?["\(Site.base)/index.html"]?["headers"] == (try Self.headers(site, "index.html")))
      #expect(try site.run("doctor", "--data", site.data, "--deep").exitCode == 0)
    }
  }

  @Test("A limit on the update size holds where packs have no room, and --now prints what the update costs")
  func limits() throws {
    try Site.with(["--pack-room", "0"]) { site in
      try Self.write(site)
      let first = try site.run("publish", "--create", "--max-update", "1B")
      #expect(first.exitCode == 0, "\(first.errors)")
      #expect(first.output.contains("--max-update has no effect: no device has an earlier version"))
      try site.scratch.write("dist/app.js", "run(2)")
      let refused = try site.run("publish", "--create", "--max-update", "20B")
      #expect(
        refused.exitCode == 3 && refused.errors.contains("B, and --max-update allows 20 B"),
        "\(refused.errors)")
      #expect(try site.poll("version=1")["data"]?["update"]?.bool == false)
      let passed = try site.run("publish", "--create", "--max-update", "100KB", "--now")
      #expect(passed.exitCode == 0 && !passed.output.contains("pack"), "\(passed.output)")
      #expect(passed.output.contains("devices at the current version download"), "\(passed.output)")
    }
  }

  @Test("Mirrors, backups and restored origins keep the headers") func copies() throws {
    try Site.with { site in
      try Self.write(site)
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      try Self.write(site, frames: "SAMEORIGIN")
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      let manifest = try site.run("show", "--manifest", "--app", "shop").output
      #expect(manifest.contains(#""X-Frame-Options":"SAMEORIGIN""#))
      try site.checkCopies()
    }
  }

  @Test(
    "check and publish report bad headers with their place in xcache.json",
    arguments: [
      (
        #"{"Set-Cookie": "a=b"}"#,
        "Set-Cookie should be a header that entries may have: Content-Security-Policy"
      ),
      (
        #"{"X-Frame-Options": "DENY\nSet-Cookie: a=b"}"#,
        "X-Frame-Options should be a header's value, one line of ASCII"
      ),
    ])
  func mistakes(_ headers: String, _ words: String) throws {
    try Site.with { site in
      try site.scratch.folder("dist", ["index.html": "<!doctype html><meta charset=utf-8>"])
      let bundle = #"{"dirs": ["dist"], "baseURL": "\#(Site.base)", "headers": {"*.html": \#(headers)}}"#
      try site.scratch.write("xcache.json", #"{"app": "shop", "bundles": {"main": \#(bundle)}}"#)
      for command in ["check", "publish"] {
        let outcome = try site.run(command)
        #expect(outcome.exitCode != 0)
        #expect(
          outcome.errors.contains("xcache.json: bundles / main / headers / *.html / \(words)"),
          "\(outcome.errors)")
      }
    }
  }
}
