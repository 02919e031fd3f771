import Manifests
import System
import Testing
import TestSupport

/// What commands print before and after a release.
@Suite("Details of releases") struct ReleaseDetailTests {
  @Test("pull --version restores any kept version; without a token, it says what is missing")
  func versions()
    throws
  {
    try Site.with { site in
      for number in 1...14 { try site.publish(["a.js": "\(number)", "\(number).js": "\(number)"]) }
      for version in [1, 5, 14] {
        let pulled = try site.run(
          "pull", "--to", "v\(version)", "--version", "\(version)", "--app", "shop", "--tree", Site.base)
        #expect(pulled.exitCode == 0, "\(pulled.errors)")
        #expect(
          try site.tree(of: "v\(version)").texts == ["a.js": "\(version)", "\(version).js": "\(version)"])
      }
      let reader = try site.run(
        "token", "create", "reader", "--scope", "read", "--app", "shop", "--no-expiry", "-q")
      let token = reader.output.filter { !$0.isWhitespace }
      #expect(
        try site.run("pull", "--to", "r", "--version", "2", "--app", "shop", token: token).exitCode == 0)
      let refused = try site.run("pull", "--to", "n", "--version", "3", "--app", "shop", token: "")
      #expect(
        refused.exitCode == 1 && refused.errors.contains("a token that may read the channel"),
        "\(refused.errors)")
    }
  }

  @Test("promote prints what it costs devices, and obeys --max-update") func promote() throws {
    try Site.with { site in
      let large = (0..<4000).map { "\(SHA256.of(Array("\($0)".utf8)).hex)\n" }.joined()
      try site.publish(["a.js": "1"])
      let promote = ["promote", "--app", "shop", "--from", "online", "--to", "stage"]
      let first = try Outcome(site.start(promote + ["--create", "--max-update", "1B"]))
      #expect(first.exitCode == 0 && first.errors.contains("--max-update has no effect"), "\(first.errors)")
      try site.publish(["a.js": "1", "b.js": large])
      let refused = try Outcome(site.start(promote + ["--max-update", "10KB"]))
      #expect(
        refused.exitCode == 3 && refused.errors.contains("--max-update allows 10.0 KB"), "\(refused.errors)")
      let dry = try Outcome(site.start(promote + ["--max-update", "10KB", "--dry-run"]))
      #expect(dry.exitCode == 3)
      #expect(
        try site.run("log", "--app", "shop", "--channel", "stage").output.split(separator: "\n").count == 2)
      let done = try Outcome(site.start(promote + ["--max-update", "1MB"]))
      #expect(done.exitCode == 0 && done.output.contains("devices on version 1 download "), "\(done.output)")
      #expect(try Outcome(site.start(promote + ["--max-update", "1B"])).exitCode == 0, "nothing changes")
    }
  }

  @Test("promote refuses a --map that matches nothing, and says what it undoes") func promoteUndoes()
    throws
  {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let promote = ["promote", "--app", "shop", "--from", "online", "--to", "stage"]
      #expect(try Outcome(site.start(promote + ["--create"])).exitCode == 0)
      let typo = try Outcome(
        site.start(promote + ["--map", "https://tset.example.com=https://m.example.com"]))
      #expect(
        typo.exitCode == 3
          && typo.errors.contains("no URL of channel \"online\" is under https://tset.example.com"),
        "\(typo.errors)")
      try site.publish(["a.js": "2"])
      let none = try Outcome(site.start(promote))
      #expect(none.exitCode == 0 && !none.output.contains("undoes"), "\(none.output)")
      try site.publish(["a.js": "hotfix"], as: "main", app: "shop", base: Site.base, "--channel", "stage")
      try site.publish(["a.js": "3"])
      let dry = try Outcome(site.start(promote + ["--dry-run"]))
      #expect(
        dry.output.contains("would undo what was released to stage in main alone: version 3 by admin"),
        "\(dry.output)")
      let done = try Outcome(site.start(promote))
      #expect(
        done.output.contains("undoes what was released to stage in main alone: version 3 by admin"),
        "\(done.output)")
      let later = try Outcome(site.start(promote + ["--if-version", "1"]))
      #expect(
        later.exitCode == 3 && later.errors.contains("`xcache diff 1 4 --app shop --channel stage`"),
        "\(later.errors)")
    }
  }

  @Test("A publish that drops an exclude warns before it starts") func droppedExclude() throws {
    try Site.with { site in
      let files: Files = [
        "index.html": "<!doctype html><meta charset=utf-8>1", "a.js": "1", "a.js.map": "{}",
      ]
      try site.publish(files, as: "main", app: "shop", base: Site.base, "--exclude", "*.map")
      let words = [
        "publish", "site-shop-main", "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
      ]
      let dropped = try Outcome(site.start(words + ["--dry-run", "--no-upload"]))
      #expect(
        dropped.errors.contains(
          "bundle main: this release brings 1 .map file (2 B), and the live version has none"),
        "\(dropped.errors)")
      let kept = try Outcome(site.start(words + ["--dry-run", "--exclude", "*.map"]))
      #expect(!kept.errors.contains(".map"), "\(kept.errors)")
    }
  }

  @Test("The xcache.json of init publishes without source maps, with directory indexes, and without warnings")
  func initial()
    throws
  {
    try Site.with { site in
      try site.scratch.folder(
        "dist", ["index.html": "<!doctype html><meta charset=utf-8>1", "a.js": "1", "a.js.map": "{}"])
      let made = try site.run("init", "--app", "shop", "--dir", "dist", "--base-url", Site.base)
      #expect(made.exitCode == 0, "\(made.errors)")
      for _ in 0..<2 {
        let published = try site.run("publish", "--create", "--now")
        #expect(published.exitCode == 0 && !published.errors.contains("pattern"), "\(published.errors)")
      }
      #expect(try site.entry("a.js.map") == nil && site.entry("a.js") != nil && site.entry("") != nil)
    }
  }

  @Test("Audit rows of a public URL change and a purge have the state before and after; log shows the change")
  func rows()
    throws
  {
    try Site.with { site in
      try site.publish(["a.js": "1", "b.js": "2"])
      let moved = try site.run(
        "channel", "set", "--public-url", "https://cdn.example.com/x", "--app", "shop", "--yes")
      #expect(moved.exitCode == 0, "\(moved.errors)")
      let log = try site.run("log", "--app", "shop").output
      #expect(log.contains("rebase") && !log.contains("rebase to"), "\(log)")
      #expect(try site.run("purge", "\(Site.base)/a.js", "--reason", "a key", "--yes").exitCode == 0)
      let rows = try site.run("audit", "log").output
      #expect(rows.contains("publicURL http://127.0.0.1:\(site.port) → https://cdn.example.com/x"), "\(rows)")
      #expect(
        rows.contains("urls −\(Site.base)/a.js") && rows.contains("versions −shop online 1–2"), "\(rows)")
      #expect(rows.contains("refused off → on"), "\(rows)")
    }
  }

  @Test("web init prints which server browsers will poll, and that only this machine can reach it")
  func webInit()
    throws
  {
    let scratch = try Scratch()
    try scratch.folder("dist", ["index.html": "<!doctype html><title>x</title>"])
    func make(_ server: String) throws -> Outcome {
      try Outcome(
        Child(
          [Binary.path, "web", "init", "--dir", "dist", "--app", "shop", "--server", server, "--inject"],
          environment: ["PATH": "/usr/bin", "HOME": scratch.path], in: scratch.path))
    }
    let local = try make("http://localhost:8080")
    #expect(
      local.exitCode == 0 && local.output.contains("browsers with this build poll http://localhost:8080"))
    #expect(local.errors.contains("only this machine reaches http://localhost:8080"), "\(local.errors)")
    let right = try make("https://xcache.example.com")
    #expect(
      right.output.contains("poll https://xcache.example.com") && right.errors.isEmpty, "\(right.errors)")
  }
}
