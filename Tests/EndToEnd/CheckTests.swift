import System
import Testing
import Values

@Suite("Build checks")
struct CheckTests {
  private static func page(_ body: String) -> String { "<!doctype html><meta charset=utf-8>\(body)" }

  private static func publish(
    _ site: Site, _ bundle: String, _ files: Files, base: String, _ more: String...
  ) throws -> Outcome {
    let folder = try site.scratch.folder("check-\(bundle)", files)
    return try Outcome(
      try site.start(
        ["publish", "--create", folder, "--app", "shop", "--bundle", bundle, "--base-url", base, "--now"]
          + more))
  }

  @Test("A broken build is refused before anything is sent, with the place and the remedy")
  func refused() throws {
    try Site.with { site in
      let files = ["index.html": Self.page("\n<script src=gone.js></script>"), "app.js": "1"]
      let refused = try Self.publish(site, "main", files, base: Site.base)
      #expect(refused.exitCode == 3 && refused.output.isEmpty)
      #expect(refused.errors.contains("1 error; nothing was released"))
      #expect(
        refused.errors.contains(
          "/index.html:2:13: error: the script gone.js is not in the bundle: build again, or correct the reference"
            + " [missing]"), "\(refused.errors)")
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)
      let released = try Self.publish(site, "main", files, base: Site.base, "--no-check", "missing")
      #expect(released.exitCode == 0, "\(released.errors)")
      // An unchanged build isn't checked again.
      #expect(try Self.publish(site, "main", files, base: Site.base).exitCode == 0)
    }
  }

  @Test("Warnings are printed and don't block a release; xcache.json turns rules off")
  func warnings() throws {
    try Site.with { site in
      let folder = try site.scratch.folder("site", ["index.html": "<html><link rel=icon href=x.ico>"])
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
      ]
      let first = try Outcome(try site.start(words + ["--json"]))
      #expect(first.exitCode == 0 && first.errors.contains("[charset]") && first.errors.contains("[missing]"))
      #expect(try JSONValue.parse(Array(first.output.utf8))["check"]?["warnings"]?.integer == 2)
      let settings = #"{"check":{"off":["charset"],"ignore":["*.ico"]}}"#
      try DurableFile.write(Array(settings.utf8), to: "\(site.scratch.path)/xcache.json")
      try DurableFile.write(Array("<html><link rel=icon href=y.ico>".utf8), to: "\(folder)/index.html")
      let second = try Outcome(try site.start(words))
      #expect(second.exitCode == 0 && second.remarks.isEmpty, "\(second.errors)")
    }
  }

  @Test(
    "A release that removes nothing reads only changed files; it reads all files once something is missing or removed"
  )
  func readsChangedFiles() throws {
    try Site.with { site in
      var files = [
        "index.html": Self.page("<script type=module src=a.js></script>"), "a.js": "import './b.js'",
        "b.js": "",
      ]
      for index in 0..<20 { files["page\(index).html"] = "<html><meta charset=utf-8><p>\(index)" }
      func bytesRead() throws -> Int64 {
        let outcome = try Self.publish(site, "main", files, base: Site.base, "--json")
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        return try JSONValue.parse(Array(outcome.output.utf8))["check"]?["bytesRead"]?.integer ?? -1
      }
      func size() -> Int64 { files.values.reduce(0) { $0 + Int64($1.utf8.count) } }
      #expect(try bytesRead() == size())
      files["b.js"] = "let b"
      #expect(try bytesRead() == 5)
      files["page0.html"] = nil
      #expect(try bytesRead() == size())
      // Only the unchanged files tell that b.js is loaded as a module.
      files["b.js"] = "import './c.js'"
      let refused = try Self.publish(site, "main", files, base: Site.base)
      #expect(refused.exitCode == 3 && refused.errors.contains("b.js:1:8: error"), "\(refused.errors)")
    }
  }

  @Test("A reference may lead into another live bundle, whose releases must not remove the target")
  func otherBundles() throws {
    try Site.with { site in
      let shared = ["logo.png": "png", "index.html": Self.page("")]
      let main = ["index.html": Self.page("\n<img src=common/logo.png><a href=common/index.html>")]
      let base = "https://m.example.com"
      #expect(try Self.publish(site, "main", main, base: base).exitCode == 3)
      #expect(try Self.publish(site, "common", shared, base: "\(base)/common").exitCode == 0)
      let released = try Self.publish(site, "main", main, base: base)
      #expect(released.exitCode == 0, "\(released.errors)")

      let refused = try Self.publish(site, "common", ["index.html": Self.page("")], base: "\(base)/common")
      #expect(refused.exitCode == 3)
      #expect(
        refused.errors.contains(
          "https://m.example.com/index.html:2:10: error: bundle main needs https://m.example.com/common/logo.png, "
            + "which this release removes"), "\(refused.errors)")
      // A broken link is only a warning.
      let linked = try Self.publish(
        site, "common", ["logo.png": "png"], base: "\(base)/common", "--allow-no-pages")
      #expect(linked.exitCode == 0 && linked.errors.contains("warning: bundle main needs"))
      let forced = try Self.publish(
        site, "common", ["index.html": Self.page("")], base: "\(base)/common", "--no-check", "removed")
      #expect(forced.exitCode == 0, "\(forced.errors)")
    }
  }

  @Test("Prefetch config pages that are in no bundle are reported; pages of other bundles aren't")
  func prefetch() throws {
    try Site.with { site in
      let base = "https://m.example.com/shop"
      try site.publish(["index.html": Self.page("")], as: "main", base: base)
      try site.publish(["index.html": Self.page("")], as: "help", base: base + "/help")
      let pages = ["index.html", "help/index.html", "gone.html"].map { page in
        #"{"url":"\#(base)/\#(page)","interfaces":[{"api":"https://m.example.com/x","method":"GET"}]}"#
      }
      let file = "\(site.scratch.path)/prefetch.json"
      try DurableFile.write(Array("[\(pages.joined(separator: ","))]".utf8), to: file)
      #expect(try site.run("prefetch", "push", file, "--app", "shop").exitCode == 0)
      let outcome = try Self.publish(site, "main", ["index.html": Self.page("2")], base: base)
      #expect(outcome.exitCode == 0)
      #expect(outcome.errors.contains("names the page \(base)/gone.html, which is in no bundle"))
      #expect(outcome.remarks.split(separator: "\n").count == 1, "\(outcome.errors)")
    }
  }

  @Test(
    "check and publish report patterns in xcache.json that match nothing, also if no file changed")
  func idlePatterns() throws {
    try Site.with { site in
      try site.scratch.folder("dist", ["index.html": Self.page("hello"), "a.js": "1"])
      func write(_ check: String = "") throws {
        try site.scratch.write(
          "xcache.json",
          """
          {"app": "shop", "bundles": {"main": {"baseURL": "\(Site.base)", "dirs": ["dist"], "exclude": ["*.bak"],
            "headers": {"*.htm": {"X-Frame-Options": "DENY"}, "*.html": {"X-Frame-Options": "DENY"}}}}\(check)}
          """)
      }
      try write()
      let path = "\(try Kernel.realPath(site.scratch.path))/xcache.json"
      let lines = [
        "\(path): warning: bundles / main / exclude: the pattern \"*.bak\" excludes nothing: correct or remove it "
          + "[pattern]",
        "\(path): warning: bundles / main / headers: the pattern \"*.htm\" matches no published file: correct "
          + "or remove it [pattern]",
      ]
      let checked = try site.run("check", token: "none")
      #expect(checked.exitCode == 0)
      #expect(checked.output == (lines + ["0 errors, 2 warnings in 2 files", ""]).joined(separator: "\n"))
      for _ in 0..<2 {
        let published = try site.run("publish", "--create", "--json")
        #expect(published.exitCode == 0 && published.remarks == lines.map { $0 + "\n" }.joined())
        let findings = try JSONValue.parse(Array(published.output.utf8))["check"]?["findings"]?.array ?? []
        #expect(findings.map { $0["rule"]?.string } == ["pattern", "pattern"])
        #expect(findings.first?["file"]?.string == path && findings.first?["severity"]?.string == "warning")
      }
      try write(#", "check": {"off": ["pattern"]}"#)
      #expect(
        try site.run("publish").remarks.isEmpty && site.run("check").output.hasPrefix("0 errors, 0 warn"))
    }
  }

  @Test("`xcache check` needs no server, and has different exit codes for errors, warnings and usage errors")
  func command() throws {
    try Site.with { site in
      let folder = try site.scratch.folder("dist", ["index.html": "<html><img src=a.png><img src=/b.png>"])
      let without = try site.run("check", folder, token: "none")
      #expect(without.exitCode == 3 && without.output.hasSuffix("1 error, 1 warning in 1 file\n"))
      let under = try site.run("check", folder, "--base-url", "https://m.example.com/", "--json")
      let json = try JSONValue.parse(Array(under.output.utf8))
      #expect(under.exitCode == 3 && json["errors"]?.integer == 2)
      #expect(json["findings"]?.array?.first?["rule"]?.string == "charset")
      #expect(try site.run("check", folder, "--no-check", "missing").exitCode == 0)
      let wrong = try site.run("check", folder, "--no-check", "mising")
      #expect(wrong.exitCode == 2 && wrong.errors.contains("did you mean missing?"))
      #expect(try site.run("check").exitCode == 2)
      #expect(try site.run("check", "nowhere").exitCode == 1)
    }
  }
}
